import { CommandError } from './command-context.ts';
import type { LocalProvider } from './local-commands.ts';

/** All providers, or only the provider with the given id. Throws {@link CommandError} 2 if there is none. */
export function providersNamed(
  configured: readonly LocalProvider[],
  named: string | undefined,
): [LocalProvider, ...LocalProvider[]] {
  const [first, ...others] = named === undefined ? configured : configured.filter(({ id }) => id === named);
  if (first) return [first, ...others];
  const ids = configured.map(({ id }) => id);
  if (ids.length > 0) throw new CommandError(2, `there is no provider ${named}: configured are ${ids.join(', ')}`);
  throw new CommandError(
    2,
    'no provider is configured: set STRIPE_SECRET_KEY, PAYPAL_CLIENT_ID, ADYEN_API_KEY, USDC_XPUB or PROVIDERS_FILE, see docs/providers.md',
  );
}
