import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Api, CommandError, createApi } from './api.ts';
import { table } from './table.ts';
import { causeOf, hundredths, percent, plain, rate, secondsOf } from './words.ts';

export const ROUTES_USAGE = `Usage: tillway routes [command] [--url URL] [--json]

  list                      The routes with score, health and what they are expected to do. Without a command, too.
  why SESSION               Why a session got its route: every decision, its candidates and what kept them out.
  replay SESSION            Makes those decisions again; exit code 1 where one differs.
  history [ROUTE]           Changes of health, newest first.
  override ROUTE HEALTH     live, degraded, standby (out of use) or automatic. [--until TIME] [--reason TEXT]
  rules                     The routing rules in force. [--version N]
  rules check FILE          Checks a rule file and puts nothing in force.
  rules save FILE           Puts a rule file in force.
  dry-run AMOUNT            Which route such a checkout would get, and why. [--kind card|wallet|local] [--rules FILE]
                            [--customer EMAIL] [--product TEXT] [--metadata KEY=VALUE]...
  backtest                  What other rules or another objective would have changed. [--rules FILE] [--margin 0.15]
                            [--objective merchant|total|operator] [--limit 200]

  --environment sandbox|production   Default: sandbox; history tells of both.
  --url URL                 The service; default TILLWAY_URL, else http://127.0.0.1:3000.
  --json                    The answer of the API as it came.

Examples:
  tillway routes why chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m
  tillway routes override sandbox_card_acquirer standby --until 2027-01-15T12:00:00Z --reason maintenance
  tillway routes backtest --rules rules.json --limit 1000
`;

const OPTIONS = {
  url: { type: 'string' },
  json: { type: 'boolean', default: false },
  environment: { type: 'string' },
  until: { type: 'string' },
  reason: { type: 'string' },
  version: { type: 'string' },
  kind: { type: 'string' },
  rules: { type: 'string' },
  customer: { type: 'string' },
  product: { type: 'string' },
  metadata: { type: 'string', multiple: true },
  margin: { type: 'string' },
  objective: { type: 'string' },
  limit: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

interface Given {
  operands: string[];
  options: ReturnType<typeof parse>['values'];
}

/** One command: what it asks the service, and the answer in words. */
interface Command {
  /** What must be given, in words. */
  needs?: string[];
  /** How many operands it takes; as many as it needs where it is left out. */
  most?: number;
  /** The options it takes, beside those of every command. */
  takes?: (keyof typeof OPTIONS)[];
  ask(api: Api, given: Given): Promise<Answer>;
  tell(answer: Answer): string;
  /** The exit code; 0 where it is left out. */
  code?(answer: Answer): number;
}

// oxlint-disable-next-line typescript/no-explicit-any -- each command reads an answer of another shape, as the API gave it
type Answer = Record<string, any>;

const FOR_EVERY_COMMAND: readonly string[] = ['url', 'json', 'help'];

/**
 * Runs `tillway routes ...`; answers the exit code: 0 done, 1 the service refused, was not reached, or a replay differed,
 * 2 misuse.
 */
export async function routesCommand(
  args: readonly string[],
  { url, write, complain }: { url: string; write(text: string): void; complain(text: string): void },
): Promise<number> {
  try {
    const { positionals, values } = parse(args);
    if (values.help) {
      write(ROUTES_USAGE);
      return 0;
    }
    const { command, operands } = commandOf(positionals, Object.keys(values));
    const given = { operands, options: values };
    const answer = await command.ask(createApi(values.url ?? url), given);
    write(values.json ? `${JSON.stringify(answer, null, 2)}\n` : command.tell(answer));
    return command.code?.(answer) ?? 0;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    complain(`tillway: ${error.message}\n${error.help === '' ? '' : `\n${error.help}`}`);
    return error.exitCode;
  }
}

function commandOf(
  [name = 'list', ...rest]: string[],
  options: readonly string[],
): { command: Command; operands: string[] } {
  const isRules = name === 'rules' && ['check', 'save'].includes(rest[0] ?? '');
  const fullName = isRules ? `rules ${rest[0]}` : name;
  const operands = isRules ? rest.slice(1) : rest;
  const command = Object.hasOwn(COMMANDS, fullName) ? COMMANDS[fullName] : undefined;
  const { needs = [], most = needs.length, takes = [] } = command ?? {};
  if (!command || operands.length > most) {
    throw new CommandError(2, `"routes ${[name, ...rest].join(' ')}" is not understood`, ROUTES_USAGE);
  }
  if (operands.length < needs.length) throw new CommandError(2, `name ${needs.join(' and ')}`, ROUTES_USAGE);
  const foreign = options.find((option) => ![...FOR_EVERY_COMMAND, ...takes].includes(option));
  if (foreign !== undefined) throw new CommandError(2, `routes ${fullName} takes no --${foreign}`, ROUTES_USAGE);
  return { command, operands };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new CommandError(2, (error as Error).message, ROUTES_USAGE);
  }
}

const COMMANDS: Record<string, Command> = {
  list: {
    takes: ['environment'],
    ask: (api, { options: { environment = 'sandbox' } }) => api.get('/api/gateway/routing/routes', { environment }),
    tell: ({ data }) =>
      table(
        ['ROUTE', 'KIND', 'SCORE', 'HEALTH', 'SUCCESS', 'OUTCOMES', 'FEES', 'WHY'],
        data.map((route: Answer) => [
          route['id'],
          route['kind'],
          route['score'].toFixed(1),
          route['health'],
          percent(route['expectedSuccess']),
          route['outcomes'].toFixed(1),
          rate(route['buyerFeeRate'] + route['gatewayFeeRate']),
          causeOf(route['words']) + (route['override']?.until ? `, until ${secondsOf(route['override'].until)}` : ''),
        ]),
      ),
  },
  why: {
    needs: ['a session'],
    ask: (api, { operands: [session] }) => api.get(`/api/gateway/routing/decisions/${inPath(session!)}`),
    tell: ({ decisions }) => decisions.map(tellDecision).join('\n'),
  },
  replay: {
    needs: ['a session'],
    ask: (api, { operands: [session] }) => api.get(`/api/gateway/routing/decisions/${inPath(session!)}/replay`),
    tell: ({ decisions }) =>
      table(
        ['DECISION', 'SAME BYTES', 'CHOSEN', 'AGAIN', 'NOTE'],
        decisions.map((one: Answer) => [
          one['id'],
          one['identical'] ? 'yes' : 'NO',
          one['chosen'] ?? '-',
          one['again'] ?? '-',
          one['note'] ?? '',
        ]),
      ),
    code: ({ identical }) => (identical ? 0 : 1),
  },
  history: {
    most: 1,
    takes: ['environment', 'limit'],
    ask: (api, { operands: [routeId], options: { environment, limit } }) =>
      api.get('/api/gateway/routing/transitions', { routeId, environment, limit }),
    tell: ({ data }) =>
      table(
        ['TIME', 'ROUTE', 'FROM', 'TO', 'WHY'],
        data.map((one: Answer) => [
          secondsOf(one['created']),
          one['routeId'],
          one['from'],
          one['to'],
          causeOf(one['words']),
        ]),
      ),
  },
  override: {
    needs: ['a route', 'its health'],
    takes: ['until', 'reason'],
    ask: (api, { operands: [route, health], options: { until, reason } }) =>
      api.put(`/api/gateway/routing/routes/${inPath(route!)}/health`, { health, until, reason }),
    tell: ({ id, words }) => `${id} is ${plain(words)}\n`,
  },
  rules: {
    takes: ['version'],
    ask: (api, { options: { version } }) => api.get('/api/gateway/routing/rules', { version }),
    tell: tellRules,
  },
  'rules check': {
    needs: ['a file'],
    // A dry run under the rules refuses them as saving would.
    ask: (api, { operands: [file] }) => api.post('/api/gateway/routing/dry-run', { amount: 10, rules: fileOf(file!) }),
    tell: () => 'The rules are well formed; nothing was changed.\n',
  },
  'rules save': {
    needs: ['a file'],
    ask: (api, { operands: [file] }) => api.put('/api/gateway/routing/rules', fileOf(file!)),
    tell: tellRules,
  },
  'dry-run': {
    needs: ['an amount'],
    takes: ['environment', 'kind', 'rules', 'customer', 'product', 'metadata'],
    ask: (api, { operands: [amount], options: { rules, metadata, environment, kind, customer, product } }) =>
      api.post('/api/gateway/routing/dry-run', {
        amount: numberOf('an amount', amount!),
        environment,
        kind,
        customer,
        product,
        ...(rules !== undefined && { rules: fileOf(rules) }),
        ...(metadata && { metadata: Object.fromEntries(metadata.map(pairOf)) }),
      }),
    tell: tellDecision,
  },
  backtest: {
    takes: ['environment', 'rules', 'margin', 'objective', 'limit'],
    ask: (api, { options: { rules, margin, objective, limit, environment } }) =>
      api.post('/api/gateway/routing/backtest', {
        environment,
        objective,
        ...(rules !== undefined && { rules: fileOf(rules) }),
        ...(margin !== undefined && { margin: numberOf('--margin', margin) }),
        ...(limit !== undefined && { limit: numberOf('--limit', limit) }),
      }),
    tell: tellBacktest,
  },
};

function tellDecision(decision: Answer): string {
  const about = decision['paymentId'] ? `attempt ${decision['paymentId']}` : 'offer';
  const kept = decision['id'] ? `${decision['created']}  ${about}  (${decision['id']})\n` : '';
  const rules = decision['rules'].map(({ id, effect }: Answer) => `  rule ${id}: ${effect}\n`).join('');
  const refused = decision['rejected'] ? `refused by a rule: ${decision['rejected']}\n` : '';
  const rows = decision['candidates']
    .toSorted((a: Answer, b: Answer) => (a['rank'] ?? Infinity) - (b['rank'] ?? Infinity))
    .map((one: Answer) => [
      one['rank'] === null ? '-' : String(one['rank']),
      one['route'],
      one['score'].toFixed(1),
      one['health'],
      `${percent(one['expectedSuccess'])} (${hundredths(one['low'])} to ${hundredths(one['high'])})`,
      rate(one['cost']),
      one['index'] === null ? '' : one['index'].toFixed(4),
      one['excluded'] ?? '',
    ]);
  return `${kept}${refused}${decision['mode']}: ${plain(decision['reason'])}\n${rules}${table(
    ['#', 'ROUTE', 'SCORE', 'HEALTH', 'SUCCESS', 'COST', 'DRAWN', 'KEPT OUT'],
    rows,
  )}`;
}

function tellRules({ version, source, ruleSet, warnings }: Answer): string {
  const told = warnings.map(({ path, message }: Answer) => `warning: ${path} ${message}\n`).join('');
  return `Version ${version} (${source})\n${told}${JSON.stringify(ruleSet, null, 2)}\n`;
}

function tellBacktest({ decisions, different, was, wouldBe, changes }: Answer): string {
  const line = (name: string, { expectedSuccess, cost }: Answer) => [name, percent(expectedSuccess), rate(cost)];
  const totals = table(['', 'EXPECTED SUCCESS', 'COST'], [line('as it was', was), line('would have been', wouldBe)]);
  // Both routes and both ids in one row would be wider than a screen.
  const list = changes
    .map(({ created, sessionId, was, wouldBe, reason }: Answer) => {
      return `\n${secondsOf(created)}  ${sessionId}\n  ${was ?? 'none'} -> ${wouldBe ?? 'none'}\n  ${plain(reason)}\n`;
    })
    .join('');
  return `${different} of ${decisions} decisions fall differently.\n\n${totals}${list}`;
}

const inPath = encodeURIComponent;

function fileOf(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new CommandError(2, `${path}: ${(error as Error).message}`);
  }
}

function numberOf(what: string, text: string): number {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(number)) throw new CommandError(2, `${what} is a number, not ${JSON.stringify(text)}`);
  return number;
}

function pairOf(text: string): [string, string] {
  const [key, ...value] = text.split('=');
  if (value.length === 0) throw new CommandError(2, `--metadata takes KEY=VALUE, not ${text}`);
  return [key!, value.join('=')];
}
