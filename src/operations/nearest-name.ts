const MAX_LENGTH = 80;

/** The most similar name, if at most a third of its letters differ. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const wanted = given.slice(0, MAX_LENGTH).toLowerCase().replace(/[_-]/g, '.');
  const [best] = names
    .map((name) => ({ name, distance: editDistance(wanted, name.replaceAll('_', '.')) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best && best.distance <= Math.floor(best.name.length / 3) ? best.name : undefined;
}

/** Levenshtein distance: the number of letters to insert, delete or replace. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of from.split('').entries()) {
    const next = [index + 1];
    for (let column = 0; column < to.length; column++) {
      const changed = row[column]! + (letter === to[column] ? 0 : 1);
      next.push(Math.min(changed, row[column + 1]! + 1, next[column]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
