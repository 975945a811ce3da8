// What else the page does where it may run scripts.
for (const note of document.querySelectorAll(".needs-script")) note.hidden = false;
const copying = document.querySelector(".command button");
if (navigator.clipboard) {
  copying.hidden = false;
  copying.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById("command").textContent);
    copying.textContent = "Copied";
  });
}
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("#inside ~ details")) one.open = true;
});
