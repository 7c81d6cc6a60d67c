/**
 * Whether to write colours: on a terminal that shows them, unless NO_COLOR is set (https://no-color.org). FORCE_COLOR
 * decides before either, as it does for Node itself: 0 or false for none, anything else for colours in a pipe too.
 */
export function hasColour(variables: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  const forced = variables['FORCE_COLOR'] ?? '';
  if (forced !== '') return forced !== '0' && forced !== 'false';
  return isTerminal && (variables['NO_COLOR'] ?? '') === '' && variables['TERM'] !== 'dumb';
}
