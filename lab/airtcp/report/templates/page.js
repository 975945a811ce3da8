// Other functions of the page.
for (const note of document.querySelectorAll(".needs-script")) note.hidden = false;
const copyButton = document.querySelector(".command button");
if (navigator.clipboard) {
  copyButton.hidden = false;
  copyButton.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById("command").textContent);
    copyButton.textContent = "Copied";
  });
}
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("#inside ~ details")) details.open = true;
});
