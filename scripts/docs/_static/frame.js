// In a tab of JupyterLab, which is a frame: the page has JupyterLab's theme, and links to other hosts open outside.
(() => {
  if (window.parent === window) return;
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!link || link.origin === location.origin || !link.protocol.startsWith("http")) return;
    link.target = "_blank";
    link.rel = "noopener";
  });
  let around;
  try {
    around = window.parent.document.body;
  } catch {
    return; // a page of another origin shows this one, and does not say how it looks
  }
  const follow = () => {
    const light = around.dataset.jpThemeLight;
    if (light) document.body.dataset.theme = light === "true" ? "light" : "dark";
  };
  follow();
  new MutationObserver(follow).observe(around, { attributeFilter: ["data-jp-theme-light"] });
})();
