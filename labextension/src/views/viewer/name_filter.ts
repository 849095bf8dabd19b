// A test of names by a regular expression as it is being typed: while it is not whole, nothing is filtered.
export function nameTest(input: HTMLInputElement): (name: string) => boolean {
  try {
    const pattern = new RegExp(input.value, "i");
    input.removeAttribute("aria-invalid");
    input.title = "a regular expression; upper and lower case count the same";
    return (name) => pattern.test(name);
  } catch (fault) {
    input.setAttribute("aria-invalid", "true");
    input.title = String(fault instanceof Error ? fault.message : fault);
    return () => true;
  }
}
