/**
 * `--option value` for each field that is given, in the order of `options`; a true flag is the option alone, null is
 * `--no-option`, and a record is the option once for each `key=value`.
 */
export function optionsOf(input: Record<string, unknown>, options: Readonly<Record<string, string>>): string[] {
  return Object.entries(options).flatMap(([field, option]) => {
    const value = input[field];
    if (value === undefined || value === false) return [];
    if (value === true) return [`--${option}`];
    if (value === null) return [`--no-${option}`];
    const values =
      typeof value === 'object'
        ? Object.entries(value).map(([key, text]) => `${key}=${String(text)}`)
        : [typeof value === 'string' ? value : JSON.stringify(value)];
    return values.flatMap((text) => [`--${option}`, text]);
  });
}

/** A command line for sh that runs as it stands, against the service at `base`, and prints JSON. */
export function commandLine(base: string, words: readonly string[]): string {
  return ['tillway', ...words, '--url', base, '--json'].map(quoted).join(' ');
}

function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  // In single quotes a shell takes everything but the single quote itself.
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
