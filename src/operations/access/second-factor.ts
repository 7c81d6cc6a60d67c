import { ScureBase32Plugin, generateURI, verifySync } from 'otplib';
import type { RandomBytes } from '../../domain/id.ts';
import type { Operator } from '../../domain/operator.ts';
import type { Deps } from '../deps.ts';
import { changeOperator } from './operators.ts';

type CodeDeps = Pick<Deps, 'webhooks' | 'merchantName' | 'realNow'> & { randomBytes: RandomBytes };

// 160 bits, as RFC 4226 recommends: https://www.rfc-editor.org/rfc/rfc4226#section-4
const SECRET_BYTES = 20;
/** Accepts the codes before and after the current one, because clocks differ. */
const TOLERANCE_SECONDS = 30;

const base32 = new ScureBase32Plugin();

/**
 * A secret for an authenticator app, with the address for its QR code: the one that the page sent back as `kept`, or a new one. `sealed`
 * is the encrypted secret, which the page sends back and nothing stores. Undefined without a key to encrypt with.
 */
export function newTotpOffer(deps: CodeDeps, { id, email }: Operator, kept: string | null = null) {
  const { webhooks, merchantName, randomBytes } = deps;
  if (!webhooks.secretBox.canSeal()) return undefined;
  const known = kept === null ? undefined : webhooks.secretBox.unseal(kept, contextOf(id));
  const secret = known ?? base32.encode(Uint8Array.from(randomBytes(SECRET_BYTES)));
  const uri = generateURI({ issuer: `${merchantName} (Tillway)`, label: email, secret });
  return { secret, uri, sealed: webhooks.secretBox.seal(secret, contextOf(id)) };
}

/** The operator after the use of a code, which is valid once; undefined for a wrong or used code. */
export function withUsedCode(deps: CodeDeps, operator: Operator, code: string): Operator | undefined {
  const totpStep = stepOf(deps, operator, code.replaceAll(/\s/g, ''));
  return totpStep !== undefined && totpStep > operator.totpStep ? { ...operator, totpStep } : undefined;
}

/**
 * Encrypts each secret of an authenticator app that only a later key decrypts with the first key, so that the later key can be removed.
 * Warns of a secret that no key decrypts, because its codes are rejected.
 */
export async function resealTotp(deps: Pick<Deps, 'store' | 'caller' | 'webhooks' | 'log'>): Promise<void> {
  const { secretBox } = deps.webhooks;
  for (const { id, totpSealed } of await deps.store.joinedOperators()) {
    if (totpSealed === null) continue;
    if (secretBox.unseal(totpSealed, contextOf(id)) === undefined) {
      const remedy = 'set the key that sealed it, or run "tillway operators invite <address> --recover"';
      deps.log.warn({ operator: id }, `ENCRYPTION_KEY does not open the secret of an authenticator app: ${remedy}`);
    }
    const resealed = (sealed: string) => secretBox.resealedText(sealed, contextOf(id));
    if (resealed(totpSealed) === undefined) continue;
    const reseal = ({ totpSealed: sealed, ...others }: Operator) => {
      return { ...others, totpSealed: sealed === null ? null : (resealed(sealed) ?? sealed) };
    };
    await changeOperator(deps, id, reseal, []);
  }
}

/** Time step of a correct code. */
function stepOf({ webhooks, realNow }: CodeDeps, { id, totpSealed }: Operator, token: string): number | undefined {
  const secret = totpSealed === null ? undefined : webhooks.secretBox.unseal(totpSealed, contextOf(id));
  if (secret === undefined || !/^\d{6}$/.test(token)) return undefined;
  const epoch = Math.floor(realNow() / 1000);
  const result = verifySync({ secret, token, epoch, epochTolerance: TOLERANCE_SECONDS });
  return result.valid && 'timeStep' in result ? result.timeStep : undefined;
}

/** Binds the sealed secret to its operator. */
function contextOf(operatorId: string): string {
  return `totp ${operatorId}`;
}
