import { DatabaseSync } from 'node:sqlite';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEMO_XPUB, type LocalChainOptions } from '../../examples/chain/local-chain.ts';
import type { Chain } from '../support/chain.ts';
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts';
import type { TestService, TestServiceOptions } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { type UsdcService, startUsdcService } from '../support/usdc-service.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** Time after which a payment by USDC times out. */
export const TIMEOUT = HOUR;

export interface WatchedService extends UsdcService {
  /** The nodes of the instance, which are proxies in front of the chain. */
  nodes: RpcProxy[];
  /** The settings of the service, for another instance of it. */
  variables: Record<string, string>;
  /** Polls `times` times, with 4 s between two polls. */
  polls(times: number): Promise<void>;
  /** Makes everything final, and polls. */
  settle(): Promise<void>;
  /** Status, ledger status and received cents of the payment, and the open discrepancies of its session. */
  state(sessionId: string): Promise<unknown[]>;
}

interface StageOptions extends TestServiceOptions {
  nodes?: number;
  chain?: LocalChainOptions;
  /** Further settings of the instance. */
  settings?: Record<string, unknown>;
  /** Further instances, of other chains, with the same wallet. */
  others?: Record<string, Chain>;
}

/** An entry of the providers file for a chain. The URLs are secrets, so they are in variables. */
function entryOf(id: string, token: string, urls: readonly string[], variables: Record<string, string>) {
  const rpc = urls.map((url, index) => {
    const env = `RPC_${id.toUpperCase()}_${index}`;
    variables[env] = url;
    return { env };
  });
  return { id, adapter: 'evm-usdc', environment: 'sandbox', chain: 'local', xpub: { env: 'XPUB' }, rpc, token };
}

/** Starts a service whose instance `local` has nodes in front of a new chain. Disposing it asserts that its books are sound. */
export async function startWatched(options: StageOptions = {}): Promise<WatchedService> {
  const { nodes: count = 1, settings = {}, others = {} } = options;
  const stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'tillway-chain-'));
  stack.defer(() => rmSync(folder, { recursive: true }));
  const nodes: RpcProxy[] = [];
  const variables: Record<string, string> = { XPUB: DEMO_XPUB, PROVIDERS_FILE: join(folder, 'providers.json') };
  const world = await startUsdcService(options, options.chain, async ({ url, token }) => {
    for (let node = 0; node < count; node++) nodes.push(stack.use(await startRpcProxy(url)));
    const own = {
      ...entryOf(
        'local',
        token,
        nodes.map((node) => node.url),
        variables,
      ),
      ...settings,
    };
    const more = Object.entries(others).map(([id, chain]) => entryOf(id, chain.token, [chain.url], variables));
    writeFileSync(variables['PROVIDERS_FILE']!, JSON.stringify({ providers: [own, ...more] }));
    return variables;
  });
  const { on, chain } = world;
  const polls = async (times: number) => {
    for (let poll = 0; poll < times; poll++) await on.pass(4000);
  };
  return {
    ...world,
    nodes,
    variables,
    polls,
    async settle() {
      await chain.finalize();
      await polls(1);
    },
    async state(sessionId) {
      const { status, ledgerStatus } = await world.payment(sessionId);
      const { discrepancies } = (await on.service.deps.store.checkout(sessionId))!;
      const open = discrepancies.filter((one) => one.status === 'open');
      return [status, ledgerStatus, ...open.map(({ kind, received }) => `${kind} ${received}`)];
    },
    async [Symbol.asyncDispose]() {
      await assertSound(on.databaseUrl);
      await world[Symbol.asyncDispose]();
      await stack.disposeAsync();
    },
  };
}

/** Money that the merchant has of a payment, in cents. */
export async function merchantHas({ payment }: WatchedService, sessionId: string): Promise<number> {
  const { amount, shortfall, reversed, status } = await payment(sessionId);
  return status === 'paid' ? amount - shortfall - reversed : 0;
}

/** Runs SQL on an SQLite database without its foreign keys. */
export function runUnchecked({ databaseUrl }: Pick<TestService, 'databaseUrl'>, sql: string): void {
  using database = new DatabaseSync(databaseUrl.slice('sqlite:'.length), { enableForeignKeyConstraints: false });
  database.exec(sql);
}
