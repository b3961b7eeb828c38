// Applies the remembered colour theme before the first paint; the only script that is not a module. The button is in views/theme.js.
try {
  const theme = localStorage.getItem("oomcast-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // no storage: the system's theme it is
}
