import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface Snippet {
  /** The nearest heading above it. */
  heading: string;
  code: string;
}

/** The TypeScript of the SDK's README, in order. */
export function readmeSnippets(): Snippet[] {
  const markdown = readFileSync(fileURLToPath(new URL('../../sdk/README.md', import.meta.url)), 'utf8');
  const snippets: Snippet[] = [];
  for (const part of markdown.split(/^#+ (?=.*$)/m)) {
    const heading = part.split('\n', 1)[0]!;
    for (const [, code] of part.matchAll(/^```ts\n([\s\S]*?)^```$/gm)) snippets.push({ heading, code: code! });
  }
  return snippets;
}

/** What a snippet says that it prints: the comment behind each console.log; `...` stands for anything. */
export function promisedOutput(code: string): RegExp[] {
  return Array.from(code.matchAll(/^ *console\.log\(.*\); \/\/ (.*)$/gm), ([, text]) => {
    const parts = text!.split('...').map((part) => part.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
    return new RegExp(`^${parts.join('.+')}$`);
  });
}
