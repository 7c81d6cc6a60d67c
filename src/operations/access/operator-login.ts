import { environmentOfKey, hashOfKey } from '../../domain/api-key.ts';
import { principalOfKey } from '../../domain/principal.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import type { RandomBytes } from '../../domain/id.ts';
import { type Operator, hashOfSecret } from '../../domain/operator.ts';
import type { Change } from '../../store/store.ts';
import type { OperatorSession } from '../../store/tables/operators-table.ts';
import type { Deps } from '../deps.ts';
import { audited, recordRefusal } from './audit.ts';
import type { Gate } from './key-gate.ts';
import { type Logins, newLogin } from './operator-sessions.ts';
import { changeOperator, operatorOfInvite } from './operators.ts';
import { type Site, verifyNewPasskey, verifyPasskey } from './passkeys.ts';
import { hashPassword, isPassword } from './passwords.ts';
import { newSecondFactor, withUsedCode } from './second-factor.ts';

export type LoginDeps = Pick<Deps, 'store' | 'realNow' | 'newId' | 'webhooks' | 'merchantName' | 'log'> & {
  randomBytes: RandomBytes;
  gate: Gate;
  logins: Logins;
  /** True if passwords need a second factor, because other machines reach the dashboard. */
  needsSecondFactor: boolean;
};

/** Origin of a login; `before` is the session whose factor is repeated. */
export interface From {
  site: Site;
  address: string;
  before?: OperatorSession | undefined;
}

/** A proof by an existing or a new factor. `answer`: the browser's answer about a passkey. `code`: of the app, or a recovery code. */
export type Proof = { answer: string } | { password: string; code: string };
/** `totp`: the sealed secret of the page, whose first code is `code`; the code can be empty on this machine. */
export type NewFactor = { answer: string } | { password: string; code: string; totp: string };

/** Logs the owner of an API key in, and returns the token of the session. Throws GatewayError `forbidden`. */
export async function loginByKey(deps: LoginDeps, text: string, { address }: From): Promise<string> {
  const isKey = environmentOfKey(text) !== undefined;
  const key = isKey ? await deps.store.apiKeyByHash(hashOfKey(text)) : undefined;
  if (!key || key.revokedAt !== null || key.scope === 'agent') {
    throw new GatewayError('forbidden', 'This is no API key that opens the dashboard.', {
      suggestion: 'Use an active key of scope read, write or admin; "tillway keys list" shows them.',
    });
  }
  const { token, changes } = newLogin(deps, { operatorId: null, keyId: key.id, address });
  await audited(deps, 'logIn', principalOfKey(key)).store.commit(changes);
  return token;
}

/** Logs an operator in, or repeats the factor of `from.before`; returns the new token. Throws GatewayError `forbidden`, or `rate_limited` for a name. */
export async function loginByFactor(
  deps: LoginDeps,
  purpose: string,
  email: string,
  proof: Proof,
  from: From,
): Promise<string> {
  if (!('answer' in proof)) return loginByPassword(deps, email.trim().toLowerCase(), proof, from);
  const { id, operatorId, counter } = await verifyPasskey(deps, from.site, purpose, proof.answer);
  const check = async (operator: Operator) => {
    if (!(await deps.store.passkey(id))) throw wrong();
    return operator;
  };
  const used: Change = { type: 'passkey_used', id, counter, at: deps.realNow() };
  return enter(deps, 'logIn', operatorId, check, [used], from);
}

async function loginByPassword(deps: LoginDeps, email: string, proof: { password: string; code: string }, from: From) {
  const nameHash = hashOfSecret(email);
  const { done } = await deps.store.commit([{ type: 'login_tried', nameHash, at: deps.realNow() }]);
  if (!done) {
    throw new GatewayError('rate_limited', 'Too many logins with this name have failed.', {
      suggestion: 'Wait 15 minutes, or use a passkey.',
    });
  }
  const operator = await deps.store.operatorByEmail(email);
  const stored = operator?.passwordHash ?? null;
  if (!(await isPassword(proof.password, stored)) || !operator) {
    if (operator) recordFailure(deps, operator);
    throw wrong();
  }
  const check = (current: Operator) => {
    const needsCode = deps.needsSecondFactor || current.totpSealed !== null;
    const next = needsCode ? withUsedCode(deps, current, proof.code) : current;
    if (!next || current.passwordHash !== stored) throw wrong();
    return next;
  };
  return enter(deps, 'logIn', operator.id, check, [{ type: 'login_passed', nameHash }], from);
}

/** Records a failed login of a known operator. The response does not wait, because its time would reveal that the name exists. */
function recordFailure(deps: LoginDeps, { id, email: name }: Operator): void {
  const caller = {
    kind: 'operator',
    id,
    name,
    environment: 'production',
    role: null,
    key: null,
    provenAt: null,
  } as const;
  recordRefusal({ ...deps, caller }, { action: 'logIn', kind: 'change' }).catch((error: Error) => {
    deps.log.warn({ operator: id, reason: error.message }, 'a failed login was not recorded');
  });
}

/** Uses an invitation with a first factor, and logs the operator in. `codes` are the recovery codes of a password. */
export async function joinService(
  deps: LoginDeps,
  secret: string,
  factor: NewFactor,
  from: From,
): Promise<{ token: string; codes: string[] }> {
  const invited = await operatorOfInvite(deps, secret);
  const { protect, changes, codes } = await newFactorOf(deps, 'join', invited, factor, from.site);
  changes.push({ type: 'invite_used', id: hashOfSecret(secret), at: deps.realNow() });
  const join = async (operator: Operator) => {
    await operatorOfInvite(deps, secret);
    return protect({ ...operator, joinedAt: operator.joinedAt ?? deps.realNow() });
  };
  const token = await enter(deps, 'joinService', invited.id, join, changes, from);
  // From now on, the API requires keys.
  deps.gate.forget();
  return { token, codes };
}

/** Adds a passkey, or sets the password and ends the sessions except `loginId`. Returns the new recovery codes. */
export async function addFactor(
  deps: LoginDeps,
  operator: Operator,
  factor: NewFactor,
  site: Site,
  loginId: string,
): Promise<string[]> {
  const { protect, changes, codes } = await newFactorOf(deps, 'add', operator, factor, site);
  const ended = { operatorId: operator.id, at: deps.realNow(), except: loginId };
  if ('password' in factor) changes.push({ type: 'operator_sessions_ended', ...ended });
  const { store } = audited(deps, 'addFactor', actorOf(operator));
  await changeOperator({ store, caller: undefined }, operator.id, protect, () => changes);
  return codes;
}

async function newFactorOf(deps: LoginDeps, purpose: string, operator: Operator, factor: NewFactor, site: Site) {
  const changes: Change[] = [];
  let set: Partial<Operator> = {};
  let codes: string[] = [];
  if ('answer' in factor) {
    const passkey = await verifyNewPasskey(deps, site, `${purpose} ${operator.id}`, operator.id, factor.answer);
    changes.push({ type: 'passkey_added', passkey });
  } else {
    set = { passwordHash: await hashPassword(factor.password, deps.randomBytes) };
    if (deps.needsSecondFactor || factor.code !== '') {
      const second = newSecondFactor(deps, operator, factor.totp, factor.code);
      if (!second) throw wrong();
      set = { ...set, ...second.factor };
      ({ codes } = second);
    }
  }
  return { protect: (current: Operator) => ({ ...current, ...set }), changes, codes };
}

/** Saves the operator of a proven factor together with the new session. Every login has a new token. */
async function enter(
  deps: LoginDeps,
  action: string,
  operatorId: string,
  check: (operator: Operator) => Operator | Promise<Operator>,
  along: Change[],
  { address, before }: From,
): Promise<string> {
  if (before && before.operatorId !== operatorId) throw wrong();
  const { realNow, log } = deps;
  const known = await deps.store.operator(operatorId);
  if (!known) throw wrong();
  const { store } = audited(deps, before ? 'confirmFactor' : action, actorOf(known));
  const { token, changes } = newLogin(deps, { operatorId, keyId: null, address }, before);
  const decide = async (operator: Operator) => {
    const isEnded = before !== undefined && (await store.operatorSession(before.id))?.endedAt !== null;
    if (operator.disabledAt !== null || isEnded) throw wrong();
    return { ...(await check(operator)), lastLoginAt: realNow() };
  };
  await changeOperator({ store, caller: undefined }, operatorId, decide, () => [...along, ...changes]);
  log.info({ operator: operatorId }, before ? 'operator confirmed a factor' : 'operator logged in');
  return token;
}

const actorOf = ({ id, email }: Operator) => ({ kind: 'operator', id, name: email }) as const;

function wrong(): GatewayError {
  return new GatewayError('forbidden', 'The login was not accepted.', {
    suggestion: 'Check address, password and code. A code is valid once. An admin can renew your access.',
  });
}
