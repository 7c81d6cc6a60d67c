/** Letters that may be wrong, missing or too many. */
const MAX_DISTANCE = 3;

/** The word that was probably meant; undefined where none is near. */
export function nearest(text: string, words: readonly string[]): string | undefined {
  const ranked = words
    .map((word) => ({ word, distance: distance(text, word) }))
    .filter((each) => each.distance <= MAX_DISTANCE)
    .toSorted((one, other) => one.distance - other.distance);
  return ranked[0]?.word;
}

/** How many letters must be put in, taken out or changed to come from one to the other (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [at, letter] of Array.from(from).entries()) {
    const above = row;
    row = [at + 1];
    for (const [index, other] of Array.from(to).entries()) {
      row.push(Math.min(above[index + 1]! + 1, row[index]! + 1, above[index]! + (letter === other ? 0 : 1)));
    }
  }
  return row.at(-1)!;
}
