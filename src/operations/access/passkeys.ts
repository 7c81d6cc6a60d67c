import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { GatewayError } from '../../domain/gateway-error.ts';
import type { RandomBytes } from '../../domain/id.ts';
import { CHALLENGE_MS, type Operator, newSecret } from '../../domain/operator.ts';
import type { Passkey } from '../../store/tables/operators-table.ts';
import type { Deps } from '../deps.ts';

/** The site to which passkeys are bound: the host name of the dashboard, and its origin. */
export interface Site {
  rpId: string;
  origin: string;
}

type PasskeyDeps = Pick<Deps, 'store' | 'realNow' | 'merchantName'> & { randomBytes: RandomBytes };

/** EdDSA, ES256 and RS256: every authenticator has one of them. */
const ALGORITHMS = [-8, -7, -257];
/** Purpose of a challenge for a login; the id of an operator is the purpose of one for a new passkey. */
const LOGIN = 'login';

/** Loaded at the first use of a passkey, because the library takes long to load. */
const library = () => import('@simplewebauthn/server');

/** Options of the browser for a new passkey of an operator. The challenge is valid once, for this operator. */
export async function newPasskeyOptions(deps: PasskeyDeps, { rpId }: Site, { id, email }: Operator) {
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpName: deps.merchantName,
    rpID: rpId,
    userName: email,
    userID: new TextEncoder().encode(id),
    challenge: await newChallenge(deps, id),
    excludeCredentials: await deps.store.passkeysOfOperator(id),
    supportedAlgorithmIDs: ALGORITHMS,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
}

/** Options of the browser for the login with any passkey of this site. */
export async function passkeyOptions(deps: PasskeyDeps, { rpId }: Site) {
  const { generateAuthenticationOptions } = await library();
  const challenge = await newChallenge(deps, LOGIN);
  return generateAuthenticationOptions({ rpID: rpId, challenge, userVerification: 'required' });
}

async function newChallenge({ store, realNow, randomBytes }: PasskeyDeps, purpose: string) {
  const at = realNow();
  const challenge = { id: newSecret(randomBytes), purpose, expiresAt: at + CHALLENGE_MS };
  await store.commit([{ type: 'challenge_created', challenge, at }]);
  return Uint8Array.from(Buffer.from(challenge.id, 'base64url'));
}

/** The new passkey in the browser's answer. Throws GatewayError `forbidden`. */
export async function verifyNewPasskey(deps: PasskeyDeps, site: Site, operatorId: string, answer: string) {
  const { verifyRegistrationResponse } = await library();
  const { registrationInfo } = await accepted(async () => {
    const response = JSON.parse(answer) as RegistrationResponseJSON;
    const expectations = { ...expected(deps, site, operatorId), supportedAlgorithmIDs: ALGORITHMS };
    return verifyRegistrationResponse({ response, ...expectations });
  });
  const { id, publicKey, counter } = registrationInfo!.credential;
  const key = Buffer.from(publicKey).toString('base64url');
  return { id, operatorId, publicKey: key, counter, created: deps.realNow(), lastUsedAt: null };
}

/** The stored passkey that the browser's answer proves, with its new counter. Throws GatewayError `forbidden`. */
export async function verifyPasskey(deps: PasskeyDeps, site: Site, answer: string): Promise<Passkey> {
  const { verifyAuthenticationResponse } = await library();
  const { passkey, authenticationInfo } = await accepted(async () => {
    const response = JSON.parse(answer) as AuthenticationResponseJSON;
    const found = await deps.store.passkey(response.id);
    if (!found) return undefined;
    const credential = { ...found, publicKey: Uint8Array.from(Buffer.from(found.publicKey, 'base64url')) };
    const verification = { response, credential, ...expected(deps, site, LOGIN) };
    return { passkey: found, ...(await verifyAuthenticationResponse(verification)) };
  });
  return { ...passkey, counter: authenticationInfo.newCounter, lastUsedAt: deps.realNow() };
}

/** Expectations of the library. */
function expected({ store, realNow }: PasskeyDeps, { rpId, origin }: Site, purpose: string) {
  const expectedChallenge = async (challenge: string) =>
    (await store.commit([{ type: 'challenge_used', challenge, purpose, at: realNow() }])).done;
  return { expectedOrigin: origin, expectedRPID: rpId, requireUserVerification: true, expectedChallenge };
}

/** A successful verification. Plain errors, which the library throws too, mean that the answer does not prove the passkey. */
async function accepted<Result extends { verified: boolean }>(verify: () => Promise<Result | undefined>) {
  const result = await verify().catch((error: unknown) => {
    if (error instanceof GatewayError) throw error;
    return undefined;
  });
  if (result?.verified) return result;
  throw new GatewayError('forbidden', 'The passkey was not accepted.', {
    suggestion: 'Open the page again and use a passkey of this service.',
  });
}
