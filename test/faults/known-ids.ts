/** Placeholder in a generated request for the n-th known id with a prefix. */
export const KNOWN_ID = /\{known:([a-z]{3}):(\d+)\}/g;

const MAX_KNOWN = 40;

/** The newest ids of records by prefix; payments at the simulated provider have the prefix `sim`. */
export type KnownIds = ReturnType<typeof createKnownIds>;

export function createKnownIds(first: readonly string[]) {
  const ids = new Map<string, string[]>();
  const add = (id: string, prefix = id.slice(0, 3)) => {
    const list = (ids.get(prefix) ?? []).filter((other) => other !== id);
    ids.set(prefix, [...list, id].slice(-MAX_KNOWN));
  };
  const at = (prefix: string, index: number) => {
    const list = ids.get(prefix) ?? [];
    return list[index % list.length] ?? `${prefix}_0`;
  };
  for (const id of first) add(id);
  return {
    at,
    /** Replaces the placeholders in a text. */
    fill: (source: string) => source.replace(KNOWN_ID, (_, prefix: string, index) => at(prefix, Number(index))),
    /** Adds the ids in a response, so that later requests reach the records of earlier requests. */
    learn(text: string, isNewKey = false): void {
      for (const [, id = ''] of text.matchAll(/"(?:id|\w+Id)":"([a-z]{3}_\w+)"/g)) {
        // A request that revokes an API key of the run would end the run.
        if (!id.startsWith('key_') || isNewKey) add(id);
      }
      for (const [, reference = ''] of text.matchAll(/simulator\/pay\/([\w-]+)/g)) add(reference, 'sim');
    },
  };
}
