import { chownSync, copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** One instruction of a Dockerfile, with continuation lines joined. */
export interface Instruction {
  name: string;
  text: string;
}

/** Instructions of the last stage, which becomes the image. */
export function finalStageOf(dockerfile: string): Instruction[] {
  const lines = dockerfile
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n');
  const instructions = lines.flatMap((line) => {
    const [, name, text] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    return name === undefined ? [] : [{ name, text: text! }];
  });
  return instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
}

export function valuesOf(stage: readonly Instruction[], name: string): string[] {
  return stage.filter((instruction) => instruction.name === name).map(({ text }) => text);
}

export function environmentOf(stage: readonly Instruction[]): Record<string, string> {
  const words = valuesOf(stage, 'ENV').flatMap((text) => text.split(/\s+/));
  return Object.fromEntries(words.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]));
}

/** Arguments of an `ENTRYPOINT` or a `HEALTHCHECK CMD` in exec form. */
export function commandOf(text: string): string[] {
  return JSON.parse(text.slice(text.indexOf('['))) as string[];
}

interface Locked {
  packages: Record<string, { dev?: boolean; devOptional?: boolean; link?: boolean }>;
}

/**
 * Creates the contents of the image in `folder`, readable by any account: the files of its `COPY` lines, the packages
 * that `npm ci --omit=dev` installs, and this Node.js as `node`. Returns the folder of the application.
 */
export function createImageContents(stage: readonly Instruction[], folder: string): string {
  const app = join(folder, 'app');
  for (const text of valuesOf(stage, 'COPY')) {
    const words = text.split(/\s+/);
    if (words[0] === '--from=packages') copyPackages(join(app, words[2]!));
    else {
      const target = words[1] === './' ? join(app, basename(words[0]!)) : join(app, words[1]!);
      cpSync(join(ROOT, words[0]!), target, { recursive: true, filter: isInBuildContext });
    }
  }
  mkdirSync(join(folder, 'bin'));
  copyFileSync(process.execPath, join(folder, 'bin', 'node'));
  return app;
}

/** True if deploy/Dockerfile.dockerignore includes a file in the build context. */
function isInBuildContext(path: string): boolean {
  return !/\/sdk\/(?!src|package\.json|$)/.test(path.slice(ROOT.length - 1));
}

/** Returns a filter for the files of a package that Node loads: no maps, types, documents or browser builds. */
function isCode(root: string): (path: string) => boolean {
  return (path) => {
    const inside = path.slice(root.length);
    if (/\/(?:node_modules|esnext|browser|test|docs?)(?:\/|$)/.test(inside)) return false;
    return !/\.(?:map|md|ts|cts|mts|markdown|txt|ya?ml)$/.test(inside);
  };
}

function copyPackages(target: string): void {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Locked;
  for (const [path, { dev, devOptional, link }] of Object.entries(packages)) {
    if (!path.startsWith('node_modules/') || dev || devOptional) continue;
    const place = join(target, path.slice('node_modules/'.length));
    mkdirSync(dirname(place), { recursive: true });
    if (link) symlinkSync(join(target, '..', 'sdk'), place);
    else cpSync(join(ROOT, path), place, { recursive: true, filter: isCode(join(ROOT, path)) });
  }
}

/** Creates a folder that an account may write to, as `RUN mkdir /data && chown` does. */
export function createDataFolder(
  folder: string,
  account: { uid: number; gid: number } | undefined,
  name = 'data',
): string {
  const data = join(folder, name);
  mkdirSync(data);
  if (account) chownSync(data, account.uid, account.gid);
  return data;
}
