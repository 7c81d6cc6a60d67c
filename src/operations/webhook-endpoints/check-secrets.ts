import type { SealedSecret } from '../../domain/webhook-endpoint.ts';
import type { Deps } from '../deps.ts';

type Checking = Pick<Deps, 'store' | 'webhooks' | 'log'>;

/**
 * Makes sure that every secret in the database opens, and seals those with the first key that only another one opens, so
 * that the other one can be taken out. Throws an error of one line where one does not open: its endpoint would get nothing.
 */
export async function checkSecrets({ store, webhooks, log }: Checking): Promise<void> {
  const { secretBox } = webhooks;
  const secrets = await store.sealedSecrets();
  const closed = secrets.filter((secret) => secretBox.open(secret) === undefined);
  if (closed.length > 0) throw new Error(wordsFor(closed));
  const changed = secrets.filter((secret) => secretBox.resealed(secret) !== undefined);
  for (const secret of changed) {
    await store.commit([{ type: 'secret_resealed', secret, sealed: secretBox.resealed(secret)! }]);
  }
  if (changed.length > 0)
    log.info({ secrets: changed.length }, 'webhook secrets are sealed with the first ENCRYPTION_KEY');
}

function wordsFor(closed: readonly SealedSecret[]): string {
  const ids = [...new Set(closed.map(({ endpointId }) => endpointId))];
  const named = ids.length === 1 ? ids[0]! : `${ids[0]!} and ${ids.length - 1} more`;
  return `ENCRYPTION_KEY does not open the webhook secrets of ${named}: set the key that they were sealed with, behind a comma after a new one, or restore the .key file that stood beside the database; where the key is lost, "tillway endpoints forget-secrets" says which secrets are, and gives them up`;
}
