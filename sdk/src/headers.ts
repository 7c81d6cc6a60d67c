/**
 * Merges headers. A header of a later argument replaces the header with the same name of an earlier argument, ignoring case.
 * Throws TypeError for an invalid header; the message omits the value, which can be a secret.
 */
export function mergedHeaders(...layers: (Readonly<Record<string, string>> | undefined)[]): Record<string, string> {
  const merged: Record<string, string> = {};
  for (const layer of layers) {
    for (const [name, value] of Object.entries(layer ?? {})) {
      assertSendable(name, value);
      merged[name.toLowerCase()] = value;
    }
  }
  return merged;
}

function assertSendable(name: string, value: unknown): void {
  const shown = JSON.stringify(name);
  if (typeof value !== 'string') {
    throw new TypeError(`the header ${shown} must be a string, not ${value === null ? 'null' : typeof value}`);
  }
  try {
    new Headers().set(name, value);
  } catch {
    throw new TypeError(`the header ${shown} cannot be sent: its name or value contains invalid characters`);
  }
}
