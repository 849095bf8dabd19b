// Times and sizes as texts in suitable units.

export function timeText(us: number): string {
  const size = Math.abs(us);
  if (size >= 1e6) return `${+(us / 1e6).toPrecision(5)} s`;
  if (size >= 1e3) return `${+(us / 1e3).toPrecision(4)} ms`;
  if (size >= 1 || size === 0) return `${+us.toPrecision(4)} µs`;
  return `${+(us * 1e3).toPrecision(3)} ns`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${Math.round(10 * bytes) / 10} bytes`;
  let size = bytes;
  for (const unit of ["bytes", "KiB", "MiB"]) {
    if (size < 1024) return `${+size.toPrecision(4)} ${unit}`;
    size /= 1024;
  }
  return `${+size.toPrecision(4)} GiB`;
}
