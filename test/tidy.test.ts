import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** The text files of the repository by path, relative to the root of the repository. */
type Tree = Readonly<Record<string, string>>;
/** Returns one line for each violation. */
type Check = (tree: Tree) => string[];

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
}

const MAX_FUNCTION_LINES = 70;

/** The layers from top to bottom. Imports point down, or stay within a folder. See docs/decisions/layers.md. */
const LAYERS =
  'main service config cli mcp http dashboard checkout simulator workers operations providers webhooks store contract routing html telemetry runtime domain'.split(
    ' ',
  );
/** Modules with the clock, randomness and the settings. Only `main` imports them; other files may import their types. */
const FOR_MAIN_ONLY = ['src/runtime.ts', 'src/config.ts'];

const UNTRACKED = new Set(['node_modules', 'data', 'dist', '.git']);
const MACHINE_PATH = new RegExp(`(?<![\\w.])/(?:${['root', 'work', 'home'].join('|')})/`);
const LEFTOVER = new RegExp(`\\b(?:${['TO-DO', 'FIX-ME', 'X-XX'].map((word) => word.replace('-', '')).join('|')})\\b`);

function readTree(root: URL): Tree {
  const tree: Record<string, string> = {};
  for (const entry of readdirSync(root, { withFileTypes: true })) {
    if (UNTRACKED.has(entry.name) || entry.name.endsWith('.log')) continue;
    if (entry.isDirectory()) {
      const inside = readTree(new URL(`${entry.name}/`, root));
      for (const [path, text] of Object.entries(inside)) tree[`${entry.name}/${path}`] = text;
    } else if (entry.isFile()) {
      const text = readFileSync(new URL(entry.name, root), 'utf8');
      if (!text.includes('\0')) tree[entry.name] = text;
    }
  }
  return tree;
}

function filesOf(tree: Tree, pattern: RegExp): [path: string, text: string][] {
  return Object.entries(tree).filter(([path]) => pattern.test(path));
}

/** The files of the repository that a text names in quotes, such as assets and workers. */
function referencesOf(path: string, text: string): string[] {
  return Array.from(text.matchAll(REFERENCE), ([, specifier]) => resolved(path, specifier!));
}

function resolved(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

const IMPORT = /^(?:import|export)\s+(?:(type\s)?([^'"`;]*?)\s*from\s+)?'(\.[^']+)';?$/gm;
const DYNAMIC_IMPORT = /\bimport\('(\.[^']+)'\)/g;
const REFERENCE = /['"`](\.{0,2}\/?[\w./-]+\.(?:ts|js|css|json|html|svg|yaml))['"`]/g;

function importsOf(tree: Tree, folder: RegExp): Import[] {
  return filesOf(tree, folder).flatMap(([from, text]) => {
    const found = Array.from(text.matchAll(IMPORT), ([, type, names = '', specifier]): Import => {
      const inner = /^\{([^}]*)\}$/.exec(names.trim())?.[1] ?? '';
      const listed = inner.split(',').filter((name) => name.trim() !== '');
      const typeOnly = type !== undefined || (listed.length > 0 && listed.every((name) => /^\s*type\s/.test(name)));
      return { from, to: resolved(from, specifier!), typeOnly };
    });
    const dynamic = Array.from(text.matchAll(DYNAMIC_IMPORT), ([, specifier]): Import => {
      return { from, to: resolved(from, specifier!), typeOnly: false };
    });
    return [...found, ...dynamic];
  });
}

const SOURCES = /^src\/.*\.ts$/;
const SDK = /^sdk\/src\/.*\.ts$/;
const CODE = /^(?:src|test|bench|sdk|examples)\/.*\.ts$/;

function layerOf(path: string): string {
  return path.split('/')[1]!.replace(/\.ts$/, '');
}

const layers: Check = (tree) => [
  ...importsOf(tree, SDK).flatMap(({ from, to }) =>
    SDK.test(to) ? [] : [`${from} imports ${to}: the SDK stands alone`],
  ),
  ...importsOf(tree, SOURCES).flatMap(({ from, to, typeOnly }) => {
    // The command line uses the SDK like any other client.
    if (layerOf(from) === 'cli' && to === 'sdk/src/index.ts') return [];
    if (!to.startsWith('src/')) return [`${from} imports ${to}, which is outside of src`];
    if (FOR_MAIN_ONLY.includes(to)) return typeOnly || from === 'src/main.ts' ? [] : [`${from} imports ${to}`];
    const [upper, lower] = [LAYERS.indexOf(layerOf(from)), LAYERS.indexOf(layerOf(to))];
    if (upper === -1 || lower === -1) return [`${upper === -1 ? from : to} is in no layer`];
    return upper <= lower ? [] : [`${from} imports ${to}, which is above it`];
  }),
];

/** The name of a package or of a Node module in an import. */
const PACKAGE = /(?:\bfrom|(?<!\/)\bimport|\bimport\()\s*'((?!\.)[^']+)'/g;

/** The SDK runs wherever `fetch` exists: it has no dependency and needs no Node module. */
const sdkImports: Check = (tree) =>
  filesOf(tree, SDK).flatMap(([path, text]) =>
    Array.from(
      text.matchAll(PACKAGE),
      ([, name]) => `${path} imports ${name}: the SDK needs nothing but the web's standards`,
    ),
  );

/** Finds unused assets in `src`. knip finds unused modules, but no unused assets. */
const unusedAssets: Check = (tree) => {
  const names = new Set(filesOf(tree, /^src\//).flatMap(([path, text]) => referencesOf(path, text)));
  return filesOf(tree, /^src\/.*\.(?!ts$)\w+$/).flatMap(([path]) => (names.has(path) ? [] : [`${path} is not used`]));
};

const impurity: Check = (tree) =>
  filesOf(tree, SOURCES).flatMap(([path, text]) => {
    const clock = path === 'src/runtime.ts' ? [] : [/new Date\(\s*\)/, /\bDate\.now\b/, /\bMath\.random\b/];
    const settings = path === 'src/main.ts' ? [] : [/\bprocess\.env\b/];
    return [...clock, ...settings].flatMap((pattern) => {
      const [found] = pattern.exec(text) ?? [];
      return found === undefined ? [] : [`${path} says ${found}`];
    });
  });

const leftovers: Check = (tree) =>
  Object.entries(tree).flatMap(([path, text]) => {
    if (path.endsWith('package-lock.json')) return [];
    const focused = CODE.test(path) ? (/\b(?:test|it|describe)\.(?:only)\(/.exec(text)?.[0] ?? '') : '';
    const found = [LEFTOVER.exec(text)?.[0] ?? '', focused].filter((word) => word !== '');
    return found.map((word) => `${path} says ${word}`);
  });

const FUNCTION =
  /(?:\bfunction\b.*|=>|^\s*(?:async )?[\w#]+\(.*\)(?:: [^=]+)?) \{$|^\s*(?:export )?(?:async )?function\b.*\($/;
const CONTROL = /^\s*(?:\} )?(?:if|for|while|switch|catch|else)\b/;

/** Counts the lines of a function without the lines of its inner functions, so that factories can be long. */
const functionLengths: Check = (tree) =>
  [...filesOf(tree, SOURCES), ...filesOf(tree, SDK)].flatMap(([path, text]) => {
    const open: { name: string; indent: number; lines: number }[] = [];
    const found: string[] = [];
    for (const line of text.split('\n')) {
      const indent = line.search(/\S|$/);
      const current = open.at(-1);
      if (FUNCTION.test(line) && !CONTROL.test(line)) open.push({ name: line.trim(), indent, lines: 1 });
      else if (current) current.lines += 1;
      if (current && indent === current.indent && /^\s*\}(?!:)/.test(line)) {
        open.splice(open.indexOf(current), 1);
        if (current.lines <= MAX_FUNCTION_LINES) continue;
        found.push(`${path}: ${current.name} has ${current.lines} lines, at most ${MAX_FUNCTION_LINES}`);
      }
    }
    return found;
  });

const decisions: Check = (tree) => {
  const index = tree['docs/decisions/README.md'];
  if (index === undefined) return ['docs/decisions/README.md is missing'];
  return filesOf(tree, /^docs\/decisions\/(?!README).*\.md$/).flatMap(([path]) =>
    index.includes(`](${path.slice('docs/decisions/'.length)})`)
      ? []
      : [`${path} is not linked from docs/decisions/README.md`],
  );
};

const dependencies: Check = (tree) => {
  const page = tree['docs/decisions/dependencies.md'] ?? '';
  const manifest: { dependencies?: Record<string, string> } = JSON.parse(tree['package.json'] ?? '{}');
  return Object.keys(manifest.dependencies ?? {}).flatMap((name) =>
    page.includes(`\`${name}\``) ? [] : [`${name} is not named in docs/decisions/dependencies.md`],
  );
};

// In the entry of a workspace, `resolved` is the folder of the workspace.
const REGISTRY = /"resolved": *"[a-z+]+:/;

const lockFile: Check = (tree) =>
  filesOf(tree, /(?:^|\/)package-lock\.json$/).flatMap(([path, text]) =>
    REGISTRY.test(text) ? [`${path} names a registry ("resolved")`] : [],
  );

const machinePaths: Check = (tree) =>
  Object.entries(tree).flatMap(([path, text]) => {
    const line = text.split('\n').findIndex((each) => MACHINE_PATH.test(each));
    return line === -1 ? [] : [`${path}:${line + 1} names a path of a local machine`];
  });

const CHECKS: [name: string, check: Check][] = [
  ['imports point down the layers', layers],
  ['the SDK imports no package', sdkImports],
  ['every asset is used', unusedAssets],
  ['the clock, randomness and the settings are used in one file each', impurity],
  ['no file has a leftover marker or a focused test', leftovers],
  [`no function is longer than ${MAX_FUNCTION_LINES} lines`, functionLengths],
  ['every decision is linked from the index', decisions],
  ['every runtime dependency has a reason', dependencies],
  ['the lock file names no registry', lockFile],
  ['no file contains a path of a local machine', machinePaths],
];

describe('the repository', () => {
  const tree = readTree(new URL('../', import.meta.url));

  test('the checks read the whole repository', () => {
    assert.ok(tree['package.json'], fileURLToPath(new URL('../', import.meta.url)));
    assert.ok(importsOf(tree, SOURCES).length > 100);
  });

  for (const [name, check] of CHECKS) {
    test(name, () => assert.deepEqual(check(tree), []));
  }
});

/** Joins parts of words that this file must not contain, because the checks also read this file. */
function spelt(...parts: string[]): string {
  return parts.join('');
}

/** A small tree without a violation. */
const SMALL: Tree = {
  'package.json': '{"dependencies":{"fastify":"^5.0.0"}}',
  'package-lock.json': '{"packages":{}}',
  'docs/decisions/README.md': '# Decisions\n\n- [Dependencies](dependencies.md)\n',
  'docs/decisions/dependencies.md': '# Dependencies\n\n`fastify` serves HTTP.\n',
  'src/main.ts':
    "import { readConfig } from './config.ts';\nimport { app } from './http/app.ts';\nimport './cli/fees.ts';\nprocess.env;\n",
  'src/config.ts': 'export const readConfig = 1;\n',
  'src/runtime.ts': 'export const now = () => Date.now();\nexport interface Clock {}\n',
  'src/http/app.ts':
    "import {\n  type Money,\n  cents,\n} from '../domain/money.ts';\nimport { now } from './now.ts';\nnew URL('./app.css', import.meta.url);\nexport const app = [cents, now];\n",
  'src/http/now.ts': "import type { Clock } from '../runtime.ts';\nexport let now: Clock;\n",
  'src/http/app.css': 'body {}\n',
  'src/domain/money.ts': 'export const cents = 1;\n',
  'src/cli/fees-command.ts': "import { Tillway } from '../../sdk/src/index.ts';\n",
  'sdk/src/index.ts': "import { get } from './get.ts';\n",
  'sdk/src/get.ts': 'export const get = 1;\n',
};

const LONG_BODY = '  count += 1;\n'.repeat(MAX_FUNCTION_LINES);
const RUNTIME = "import { now } from '../runtime.ts';\n";

/** Text that is added to one file of the small tree, and the violation that must be reported. */
const FAULTS: [path: string, added: string, complaint: string][] = [
  ['src/domain/money.ts', "import { app } from '../http/app.ts';\n", 'src/http/app.ts, which is above it'],
  ['src/domain/money.ts', "export { app } from '../http/app.ts';\n", 'src/http/app.ts, which is above it'],
  ['src/domain/money.ts', spelt('await imp', "ort('../http/app.ts');\n"), 'src/http/app.ts, which is above it'],
  ['src/domain/money.ts', "import type { App } from '../http/app.ts';\n", 'src/http/app.ts, which is above it'],
  ['src/http/app.ts', RUNTIME, 'src/http/app.ts imports src/runtime.ts'],
  ['src/http/app.ts', RUNTIME.replace('now', 'type Clock, now'), 'src/http/app.ts imports src/runtime.ts'],
  ['src/http/app.ts', "import { readConfig } from '../config.ts';\n", 'src/http/app.ts imports src/config.ts'],
  ['src/http/app.ts', "import { test } from '../../test/money.test.ts';\n", 'which is outside of src'],
  ['src/http/app.ts', "import { Tillway } from '../../sdk/src/index.ts';\n", 'which is outside of src'],
  ['src/cli/fees-command.ts', "import { get } from '../../sdk/src/get.ts';\n", 'which is outside of src'],
  ['sdk/src/get.ts', "import { cents } from '../../src/domain/money.ts';\n", 'the SDK stands alone'],
  ['sdk/src/get.ts', "import { createHmac } from 'node:crypto';\n", 'imports node:crypto'],
  ['sdk/src/get.ts', "const undici = await import('undici');\n", 'imports undici'],
  ['test/tools/package-lock.json', '{"resolved": "https://registry.example"}', 'names a registry'],
  ['src/http/app.ts', "import { x } from '../helpers/x.ts';\n", 'src/helpers/x.ts is in no layer'],
  ['src/http/unused.css', 'body {}\n', 'src/http/unused.css is not used'],
  ['src/domain/money.ts', 'const now = new Date();\n', 'says new Date()'],
  ['src/domain/money.ts', 'const now = Date.now();\n', 'says Date.now'],
  ['src/http/app.ts', 'const chance = Math.random();\n', 'says Math.random'],
  ['src/http/app.ts', "const port = process.env['PORT'];\n", 'says process.env'],
  ['src/http/app.ts', spelt('// TO', 'DO later\n'), spelt('says TO', 'DO')],
  ['docs/decisions/README.md', spelt('FIX', 'ME\n'), spelt('says FIX', 'ME')],
  ['test/money.test.ts', spelt('test.on', "ly('one', () => {});\n"), spelt('says test.on', 'ly(')],
  ['src/domain/money.ts', `export function long() {\n${LONG_BODY}}\n`, 'export function long() { has 72 lines'],
  ['src/domain/money.ts', `function long(\n  a: number,\n): void {\n${LONG_BODY}}\n`, 'function long( has 74 lines'],
  ['src/domain/money.ts', `const long = () => {\n${LONG_BODY}};\n`, 'const long = () => { has 72 lines'],
  ['docs/decisions/new.md', '# New\n', 'docs/decisions/new.md is not linked'],
  ['package.json', '{"dependencies":{"left-pad":"1.0.0"}}', 'left-pad is not named'],
  ['package-lock.json', '{"resolved":"https://registry.example"}', 'names a registry'],
  ['docs/decisions/README.md', spelt('See /ho', 'me/somebody/notes.\n'), 'names a path of a local machine'],
];

describe('the checks', () => {
  const complaints = (tree: Tree) => CHECKS.flatMap(([, check]) => check(tree));

  test('the checks report nothing for a tree without a violation', () => assert.deepEqual(complaints(SMALL), []));

  for (const [path, added, complaint] of FAULTS) {
    test(`the checks report for ${path}: ${complaint}`, () => {
      const replaced = path.endsWith('.json') || added === '';
      const text = replaced ? added : `${SMALL[path] ?? ''}${added}`;
      const found = complaints({ ...SMALL, [path]: text });
      assert.ok(
        found.some((each) => each.includes(complaint)),
        `found: ${found.join('; ')}`,
      );
    });
  }

  test('the checks do not count inner functions in the length of a function', () => {
    const inner = `  function inner() {\n${LONG_BODY.slice(28).replaceAll('  c', '    c')}  }\n`;
    const factory = `export function factory() {\n${inner}${inner}  return inner;\n}\n`;
    assert.deepEqual(complaints({ ...SMALL, 'src/domain/money.ts': `export const cents = 1;\n${factory}` }), []);
  });
});
