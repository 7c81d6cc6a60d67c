import { editDistance } from '../../operations/nearest-name.ts';

/** Letters that may be wrong, missing or too many. */
const MAX_DISTANCE = 3;

/** The word that was probably meant; undefined where none is near. */
export function nearest(text: string, words: readonly string[]): string | undefined {
  const ranked = words
    .map((word) => ({ word, distance: editDistance(text, word) }))
    .filter((each) => each.distance <= MAX_DISTANCE)
    .toSorted((one, other) => one.distance - other.distance);
  return ranked[0]?.word;
}
