// @run needs=process
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { readEvent } from '../../src/providers/sandbox-messages.ts';
import { startScriptedAdyen } from '../providers/scripted-adyen.ts';
import { startScriptedStripe } from '../providers/scripted-stripe.ts';
import { parsedAs } from '../cli/parsed-as.ts';
import { guideBlocksOf, runGuide } from './guide.ts';

const GUIDES = ['integrate', 'webhooks', 'agents', 'testing'];

function guide(name: string): string {
  return readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');
}

describe('the guides', { concurrency: 2 }, () => {
  for (const name of GUIDES) {
    test(`all blocks of docs/${name}.md run as written`, async () => {
      const ran = await runGuide(guide(name));
      assert.ok(ran >= 3, `${name} has ${ran} blocks`);
    });
  }
});

test('all blocks of docs/stripe.md run as written, with the values of a scripted Stripe', async () => {
  await using stripe = await startScriptedStripe();
  // A shell function replaces the command line of Stripe, which needs an account.
  const preparation = fenced('sh', `stripe() { echo "stripe $*"; }\nexport STRIPE_API_BASE=${stripe.url}`);
  const text = guide('stripe').replaceAll('sk_test_...', stripe.secretKey);
  const ran = await runGuide(preparation + text.replaceAll('whsec_...', stripe.webhookSecret));
  assert.ok(ran >= 8, `stripe has ${ran} blocks`);
});

test('all blocks of docs/adyen.md run as written, with the values of a scripted Adyen', async () => {
  await using adyen = await startScriptedAdyen();
  const text = guide('adyen')
    .replace('ADYEN_API_KEY=AQE...', `ADYEN_API_BASE=${adyen.url} ADYEN_API_KEY=${adyen.apiKey}`)
    .replace('YourMerchantAccount', adyen.merchantAccount)
    .replace('44782DEF...', adyen.hmacKey);
  const ran = await runGuide(text);
  assert.ok(ran >= 6, `adyen has ${ran} blocks`);
});

/** The `tillway` commands in the text between the blocks. The guide runner executes only the blocks. */
function inlineCommands(markdown: string): string[] {
  const text = markdown.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
  return Array.from(text.matchAll(/`(?:npx )?(tillway [^`]+)`/g), ([, line]) => line!.replaceAll(/\s+/g, ' '));
}

describe('commands and samples in the guides', () => {
  const root = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const pages = [
    'README.md',
    'docs/providers.md',
    'docs/stripe.md',
    'docs/adyen.md',
    'docs/usdc.md',
    ...GUIDES.map((name) => `docs/${name}.md`),
  ];

  for (const page of pages) {
    test(`the tillway commands in the text of ${page} are valid`, () => {
      const named = inlineCommands(root(page));
      assert.ok(named.length > 0 || page.includes('integrate'));
      for (const line of named) if (!line.endsWith('--help')) parsedAs(line);
    });
  }

  test('the check of commands detects an unknown command or option', () => {
    for (const line of ['tillway listn --forward-to URL', 'tillway listen --forwrd-to URL']) {
      const [named] = inlineCommands(`Use \`npx ${line}\`.`);
      assert.throws(() => parsedAs(named!), /unknown/);
    }
  });

  test('the configurations for MCP hosts have the right URL and command', () => {
    const [http, stdio] = samples('agents');
    assert.equal(http.mcpServers.tillway.url, 'http://127.0.0.1:3000/mcp');
    const { command, args } = stdio.mcpServers.tillway;
    assert.equal(parsedAs([command, ...args].join(' ')), 'tillway mcp');
  });

  test('the sample callback is a valid callback of the simulated provider', () => {
    const [callback] = samples('testing');
    assert.partialDeepStrictEqual(readEvent(callback), {
      about: 'payment',
      report: { state: 'paid' },
    });
    const { state: _state, ...rest } = callback;
    assert.throws(() => readEvent({ ...rest, stat: 'CAPTURED' }));
  });

  // oxlint-disable-next-line typescript/no-explicit-any -- the samples have different shapes, which the tests check
  function samples(name: string): any[] {
    return guideBlocksOf(guide(name))
      .filter(({ language, words }) => language === 'json' && words.includes('sample'))
      .map(({ text }) => JSON.parse(text) as unknown);
  }
});

const fenced = (info: string, text: string) => `\`\`\`${info}\n${text}\n\`\`\`\n`;

describe('the guide runner', { concurrency: 2 }, () => {
  const FAULTS: [name: string, guide: string, complaint: RegExp][] = [
    ['a failing command', fenced('sh', 'false | cat\ntrue'), /ended with 1/],
    ['an unknown subcommand', fenced('sh', 'npx tillway pay'), /ended with 2/],
    ['a block that writes into the repository', fenced('ts', 'process.exit(0);'), /written into the repository/],
    ['a server that does not start', fenced('sh server', 'exit 3'), /ended with 3/],
    ['output in another order', fenced('sh', 'echo one\necho two') + fenced('text', 'two\none'), /was not printed/],
    [
      'output with a field that the guide does not show',
      fenced('sh', `echo '{"a":{"b":1,"c":2}}'`) + fenced('json', '{"a":{"b":1}}'),
      /has b, c/,
    ],
    [
      'output with a value of another type',
      fenced('sh', `echo '{"a":"1"}'`) + fenced('json', '{"a":1}'),
      /is string, shown as number/,
    ],
    ['a sample that is not JSON', fenced('json sample', '{a: 1}'), /JSON/],
    ['a block without a known language', fenced('php', 'echo 1;'), /blocks of "php" cannot be run/],
  ];
  for (const [name, text, complaint] of FAULTS) {
    test(`the guide runner rejects ${name}`, async () => {
      await assert.rejects(runGuide(text, { timeoutMs: 500 }), complaint);
    });
  }

  test('the guide runner preserves variables, folders and files between blocks', async () => {
    const good = [
      fenced('sh', 'mkdir ~/shop\ncd ~/shop\nNAME=guide'),
      fenced('ts file=hello.ts', "console.log(`hello ${process.env['NAME']}`);"),
      fenced('sh', 'node hello.ts'),
      fenced('text', 'hel...guide'),
      fenced('sh server', 'echo up; sleep 30'),
      fenced('sh', `echo '{"id":"chk_1","list":[{"n":1},{"n":2}]}'`),
      fenced('json', '{"id":"chk_...","list":[{"n":7}]}'),
    ];
    assert.equal(await runGuide(good.join('\ntext between\n')), good.length);
  });
});

test('guideBlocksOf removes the indentation of a list from the blocks inside it', () => {
  const found = guideBlocksOf('1. Do:\n\n   ```sh server\n   one\n     two\n   ```\n');
  assert.deepEqual(found, [{ language: 'sh', words: ['server'], text: 'one\n  two', line: 3 }]);
});
