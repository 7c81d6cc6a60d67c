import { ScureBase32Plugin, generateURI, verifySync } from 'otplib';
import type { RandomBytes } from '../../domain/id.ts';
import { type Operator, hashOfSecret } from '../../domain/operator.ts';
import type { Deps } from '../deps.ts';

type CodeDeps = Pick<Deps, 'webhooks' | 'merchantName' | 'realNow'> & { randomBytes: RandomBytes };

// 160 bits, as RFC 4226 recommends: https://www.rfc-editor.org/rfc/rfc4226#section-4
const SECRET_BYTES = 20;
const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 10;
/** Accepts the codes before and after the current one, because clocks differ. */
const TOLERANCE_SECONDS = 30;

const base32 = new ScureBase32Plugin();

/** A new secret for an authenticator app, with the address for its QR code. `sealed` is the form in which the page sends it back: stored nowhere. Undefined without a key to encrypt with. */
export function newTotpOffer({ webhooks, merchantName, randomBytes }: CodeDeps, { id, email }: Operator) {
  if (!webhooks.secretBox.canSeal()) return undefined;
  const secret = base32.encode(Uint8Array.from(randomBytes(SECRET_BYTES)));
  const uri = generateURI({ issuer: `${merchantName} (Tillway)`, label: email, secret });
  return { secret, uri, sealed: webhooks.secretBox.seal(secret, contextOf(id)) };
}

/** The second factor of an operator after the first code of an offer, and ten recovery codes; undefined for a wrong code. */
export function newSecondFactor(deps: CodeDeps, operator: Operator, totpSealed: string, code: string) {
  const totpStep = stepOf(deps, { ...operator, totpSealed }, code);
  if (totpStep === undefined) return undefined;
  const newCode = () => base32.encode(Uint8Array.from(deps.randomBytes(RECOVERY_BYTES))).toLowerCase();
  const codes = Array.from({ length: RECOVERY_CODES }, newCode);
  return { factor: { totpSealed, totpStep, recoveryCodes: codes.map(hashOfSecret) }, codes };
}

/** The operator after the use of a code or a recovery code, which are valid once; undefined for a wrong or used code. */
export function withUsedCode(deps: CodeDeps, operator: Operator, text: string): Operator | undefined {
  const code = text.replaceAll(/[\s-]/g, '').toLowerCase();
  const totpStep = stepOf(deps, operator, code);
  if (totpStep !== undefined && totpStep > operator.totpStep) return { ...operator, totpStep };
  const recoveryCodes = operator.recoveryCodes.filter((stored) => stored !== hashOfSecret(code));
  return recoveryCodes.length < operator.recoveryCodes.length ? { ...operator, recoveryCodes } : undefined;
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
