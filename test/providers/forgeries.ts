import { GatewayError } from '../../src/domain/gateway-error.ts';
import type { CallbackHeaders, Provider } from '../../src/providers/provider.ts';
import type { Scenario } from '../faults/scenario.ts';

const PER_CYCLE = 1000;

/** Forged callback, and the kind of its defect. */
export interface Forged {
  body: string | Buffer;
  headers: CallbackHeaders;
  kind?: string;
}

/** Gives integers from 0 to `limit` - 1. */
export type Random = (limit: number) => number;

/** Seeded random generator (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

/** Sends forged callbacks to an adapter; returns a line for each callback that is not rejected as `unauthorized`. */
export async function sendForgeries(
  provider: Pick<Provider, 'readCallback'>,
  forge: (number: number, random: Random) => Forged,
  count: number,
  seed: number,
): Promise<string[]> {
  const random = randomOf(seed);
  const problems: string[] = [];
  for (let number = 0; number < count; number++) {
    const { body, headers, kind = '' } = forge(number, random);
    const outcome = await provider.readCallback(Buffer.from(body), headers).then(
      () => 'was accepted',
      (error: unknown) => (error instanceof GatewayError && error.code === 'unauthorized' ? undefined : String(error)),
    );
    if (outcome !== undefined) problems.push(`forgery ${number} ${kind} of seed ${seed}: ${outcome}`);
  }
  return problems;
}

interface ForgeryScenario extends Pick<Scenario, 'name' | 'injected'> {
  /** Starts the adapter, with the injected fault if `injected` is true, and returns it with its forger. */
  start(injected: boolean): Promise<AsyncDisposable & { send(count: number, seed: number): Promise<string[]> }>;
}

/** A scenario whose ten cycles send 10,000 forged callbacks. */
export function forgeryScenario({ name, injected: fault, start }: ForgeryScenario): Scenario {
  return {
    name,
    injected: fault,
    cycles: 10,
    injectedCycles: 1,
    async run({ cycles, injected }) {
      const count = cycles * PER_CYCLE;
      await using world = await start(injected);
      const problems = await world.send(count, Math.floor(performance.now() * 1000));
      return { cycles, load: `${count} forgeries`, problems };
    },
  };
}
