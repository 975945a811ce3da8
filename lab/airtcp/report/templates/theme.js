// Dark or light theme: the system's unless the user has chosen one.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = {
    // Without storage, the choice lasts until the page is closed.
    get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
    set: (value) => { try { localStorage.setItem("theme", value); } catch { /* not kept */ } },
    drop: () => { try { localStorage.removeItem("theme"); } catch { /* was not kept */ } },
  };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const known = kept.get();
  if (known === "dark" || known === "light") root.dataset.theme = known;

  function changed() {
    const button = document.querySelector("button.theme");
    button.textContent = `Dark theme: ${isDark() ? "on" : "off"}`;
    button.setAttribute("aria-label", "Dark theme");
    button.setAttribute("aria-pressed", String(isDark()));
    button.hidden = false;
    dispatchEvent(new Event("theme"));
  }

  system.addEventListener("change", changed);
  addEventListener("DOMContentLoaded", () => {
    changed();
    document.querySelector("button.theme").addEventListener("click", () => {
      const wanted = isDark() ? "light" : "dark";
      if ((wanted === "dark") === system.matches) {
        delete root.dataset.theme;
        kept.drop();
      } else {
        root.dataset.theme = wanted;
        kept.set(wanted);
      }
      changed();
    });
  });
})();
