import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Code block of the SDK's README. */
export interface Snippet {
  /** The nearest heading above the code. */
  heading: string;
  code: string;
}

function readme(): string {
  return readFileSync(fileURLToPath(new URL('../../sdk/README.md', import.meta.url)), 'utf8');
}

/** Methods in the table of the README, such as `sessions.list`. A row names one resource and then several of its methods. */
export function readmeMethods(): string[] {
  const section = readme()
    .split(/^## /m)
    .find((part) => part.startsWith('Methods'))!;
  return [...section.matchAll(/^\| (`.*?) +\|/gm)].flatMap(([, cell]) => {
    const names = [...cell!.matchAll(/`([\w.]+)`/g)].map(([, name]) => name!);
    const [resource, method] = names[0]!.split('.');
    return method === undefined ? names : [names[0]!, ...names.slice(1).map((name) => `${resource}.${name}`)];
  });
}

/** TypeScript snippets of the SDK's README, in order. */
export function readmeSnippets(): Snippet[] {
  const snippets: Snippet[] = [];
  for (const part of readme().split(/^#+ (?=.*$)/m)) {
    const heading = part.split('\n', 1)[0]!;
    for (const [, code] of part.matchAll(/^```ts\n([\s\S]*?)^```$/gm)) snippets.push({ heading, code: code! });
  }
  return snippets;
}

/** Expected output of a snippet: the comment after each console.log. `...` stands for any text. */
export function documentedOutput(code: string): RegExp[] {
  return Array.from(code.matchAll(/^ *console\.log\(.*\); \/\/ (.*)$/gm), ([, text]) => {
    const parts = text!.split('...').map((part) => part.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
    return new RegExp(`^${parts.join('.+')}$`);
  });
}
