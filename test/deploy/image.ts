import { chownSync, copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** One instruction of a Dockerfile, its continued lines joined. */
export interface Instruction {
  name: string;
  text: string;
}

/** The instructions of the last stage: what the image is. */
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

/** Variables of `ENV` instructions. */
export function environmentOf(stage: readonly Instruction[]): Record<string, string> {
  const words = valuesOf(stage, 'ENV').flatMap((text) => text.split(/\s+/));
  return Object.fromEntries(words.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]));
}

/** An `ENTRYPOINT` or the `CMD` of a `HEALTHCHECK` in its form without a shell. */
export function commandOf(text: string): string[] {
  return JSON.parse(text.slice(text.indexOf('['))) as string[];
}

interface Locked {
  packages: Record<string, { dev?: boolean; devOptional?: boolean; link?: boolean }>;
}

/**
 * Lays out in `folder` what the image would hold, as its `COPY` lines say, with the packages that `npm ci --omit=dev`
 * installs, and this Node.js as `node`, all of it readable by any account. Answers the folder of the application.
 */
export function layOut(stage: readonly Instruction[], folder: string): string {
  const app = join(folder, 'app');
  for (const text of valuesOf(stage, 'COPY')) {
    const words = text.split(/\s+/);
    if (words[0] === '--from=packages') copyPackages(join(app, words[2]!));
    else {
      const target = words[1] === './' ? join(app, basename(words[0]!)) : join(app, words[1]!);
      cpSync(join(ROOT, words[0]!), target, { recursive: true, filter: isSent });
    }
  }
  mkdirSync(join(folder, 'bin'));
  copyFileSync(process.execPath, join(folder, 'bin', 'node'));
  return app;
}

/** Answers whether deploy/Dockerfile.dockerignore lets a file into the build. */
function isSent(path: string): boolean {
  return !/\/sdk\/(?!src|package\.json|$)/.test(path.slice(ROOT.length - 1));
}

/** Filter for the files of a package that a program can read: no maps, types, documents or builds for browsers. */
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

/** A folder that an account may write to, as `RUN mkdir /data && chown` makes it. */
export function dataFolder(folder: string, account: { uid: number; gid: number } | undefined, name = 'data'): string {
  const data = join(folder, name);
  mkdirSync(data);
  if (account) chownSync(data, account.uid, account.gid);
  return data;
}
