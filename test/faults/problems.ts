/** What went wrong: a fault that breaks one promise breaks it often, and the first times say enough. */
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
