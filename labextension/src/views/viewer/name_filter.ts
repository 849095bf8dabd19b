// A filter of names by the regular expression in an input. An invalid expression, such as a half-typed one, lets all pass.
export function nameTest(input: HTMLInputElement): (name: string) => boolean {
  try {
    const pattern = new RegExp(input.value, "i");
    input.removeAttribute("aria-invalid");
    input.title = "a regular expression, case-insensitive";
    return (name) => pattern.test(name);
  } catch (fault) {
    input.setAttribute("aria-invalid", "true");
    input.title = String(fault instanceof Error ? fault.message : fault);
    return () => true;
  }
}
