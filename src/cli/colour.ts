/**
 * True if the output may contain colours: on a terminal that shows them, unless NO_COLOR is set (https://no-color.org). FORCE_COLOR
 * has precedence, as it has for Node itself: 0 or false means no colours, anything else means colours in a pipe too.
 */
export function hasColour(variables: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  const forced = variables['FORCE_COLOR'] ?? '';
  if (forced !== '') return forced !== '0' && forced !== 'false';
  return isTerminal && (variables['NO_COLOR'] ?? '') === '' && variables['TERM'] !== 'dumb';
}
