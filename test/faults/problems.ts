/** The problems of a run. Only the first are listed, because a fault breaks the same promise many times. */
export interface Problems {
  add(...problems: string[]): void;
  list(): string[];
}

const MOST = 20;

export function createProblems(): Problems {
  const kept: string[] = [];
  let count = 0;
  return {
    add(...problems) {
      count += problems.length;
      kept.push(...problems.slice(0, MOST - kept.length));
    },
    list: () => (count > kept.length ? [...kept, `and ${count - kept.length} more`] : kept),
  };
}
