import { environmentOfKey, hashOfKey } from '../../domain/api-key.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import type { RandomBytes } from '../../domain/id.ts';
import { type Operator, hasAccess, hashOfSecret, isSessionOver, newSecret } from '../../domain/operator.ts';
import { type Principal, principalOfKey, principalOfOperator } from '../../domain/principal.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import type { Change } from '../../store/store.ts';
import type { OperatorSession } from '../../store/tables/operators-table.ts';
import type { Deps } from '../deps.ts';
import { audited, recordRefusal } from './audit.ts';
import { type Gate, USE_NOTED_MS } from './key-gate.ts';
import { allSessionsEnded, changeOperator, operatorOfInvite } from './operators.ts';
import { type Site, verifyNewPasskey, verifyPasskey } from './passkeys.ts';
import { hashPassword, isPassword } from './passwords.ts';
import { withUsedCode } from './second-factor.ts';

export type LoginDeps = Pick<Deps, 'store' | 'realNow' | 'newId' | 'webhooks' | 'merchantName' | 'log'> & {
  randomBytes: RandomBytes;
  gate: Gate;
  /** True if passwords need a second factor, because other machines reach the dashboard. */
  needsSecondFactor: boolean;
};

/** Origin of a login; `before` is the session of the browser, which the login replaces. */
export interface From {
  site: Site;
  address: string;
  before?: OperatorSession | undefined;
}

/**
 * A factor that a form sends. `answer`: the browser's answer about a passkey. `code`: of the authenticator app; it can be empty on this
 * machine. `totp`: the sealed secret of a new app, whose first code is `code`.
 */
export type Factor = { answer: string } | { password: string; code: string; totp: string };

type FindDeps = Pick<LoginDeps, 'store' | 'realNow' | 'log' | 'gate'>;

/** A session that has not ended. */
export interface Login {
  session: OperatorSession;
  /** Its operator or API key, once for each environment in which it has a role. */
  principals: readonly Principal[];
}

/**
 * The login of a cookie's token; undefined for an unknown or ended one. Every request reads it, so that all instances know its end at once.
 * `isActive`: true if a person caused the request, not a script that keeps a page current.
 */
export async function findLogin(deps: FindDeps, token: string, isActive: boolean): Promise<Login | undefined> {
  const { store, realNow, log } = deps;
  const session = await store.operatorSession(hashOfSecret(token));
  const now = realNow();
  if (!session || isSessionOver(session, now)) return undefined;
  const principals = await principalsOf(deps, session);
  if (principals.length === 0) return undefined;
  if (isActive && now - session.lastActiveAt >= USE_NOTED_MS) {
    store.commit([{ type: 'operator_session_used', id: session.id, at: now }]).catch((error: Error) => {
      log.debug({ reason: error.message }, 'the activity of a session was not stored');
    });
  }
  return { session, principals };
}

/** API keys log in until the first operator has joined. */
async function principalsOf({ store, gate }: FindDeps, { ownerId, provenAt }: OperatorSession): Promise<Principal[]> {
  const operator = await store.operator(ownerId);
  if (!operator) {
    const key = (await gate.hasOperators()) ? undefined : await store.apiKey(ownerId);
    return key?.revokedAt === null ? [principalOfKey(key)] : [];
  }
  const principals = ENVIRONMENTS.map((environment) => principalOfOperator(operator, environment, provenAt));
  return principals.filter(({ role }) => role !== null);
}

/** Logs the owner of an API key in until the first operator has joined, and returns the token of the session. Throws GatewayError `forbidden`. */
export async function loginByKey(deps: LoginDeps, text: string, from: From): Promise<string> {
  const mayBe = environmentOfKey(text) !== undefined && !(await deps.gate.hasOperators());
  const key = mayBe ? await deps.store.apiKeyByHash(hashOfKey(text)) : undefined;
  if (!key || key.revokedAt !== null || key.scope === 'agent') {
    throw new GatewayError('forbidden', 'This is no API key that opens the dashboard.', {
      suggestion:
        'Use an active key of scope read, write or admin; once an operator has joined, only operators log in.',
    });
  }
  const { token, changes } = newLogin(deps, key.id, from);
  await audited(deps, 'logIn', principalOfKey(key)).store.commit(changes);
  return token;
}

export async function logOut(deps: LoginDeps, { session, principals }: Login): Promise<void> {
  const ended: Change = { type: 'operator_session_ended', login: session, at: deps.realNow() };
  await audited(deps, 'logOut', principals[0]).store.commit([ended]);
}

/** Logs an operator in, and returns the token of the session. Throws GatewayError `forbidden`, or `rate_limited` for a name. */
export async function loginByFactor(deps: LoginDeps, email: string, factor: Factor, from: From): Promise<string> {
  if (!('answer' in factor)) return loginByPassword(deps, email.trim().toLowerCase(), factor, from);
  const passkey = await verifyPasskey(deps, from.site, factor.answer);
  const check = async (operator: Operator) => {
    if (!(await deps.store.passkey(passkey.id))) throw refusedLogin(deps);
    return operator;
  };
  return enter(deps, 'logIn', passkey.operatorId, check, [{ type: 'passkey_used', passkey }], from);
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
  if (!(await isPassword(proof.password, stored)) || !operator) throw refusedLogin(deps, operator);
  const check = (current: Operator) => {
    const needsCode = deps.needsSecondFactor || current.totpSealed !== null;
    const next = needsCode ? withUsedCode(deps, current, proof.code) : current;
    if (!next || current.passwordHash !== stored) throw refusedLogin(deps, current);
    return next;
  };
  return enter(deps, 'logIn', operator.id, check, [{ type: 'login_passed', nameHash }], from);
}

/** Uses an invitation with a new factor, and logs the operator in. A new password ends the other sessions. Returns the token of the session. */
export async function joinService(deps: LoginDeps, secret: string, factor: Factor, from: From): Promise<string> {
  const invited = await operatorOfInvite(deps, secret);
  const { set, change } = await newFactorOf(deps, invited, factor, from.site);
  const used: Change = { type: 'invite_used', id: hashOfSecret(secret), at: deps.realNow() };
  const join = async (operator: Operator) => {
    await operatorOfInvite(deps, secret);
    return { ...operator, ...set, joinedAt: operator.joinedAt ?? deps.realNow() };
  };
  const action = invited.joinedAt === null ? 'joinService' : 'addFactor';
  const token = await enter(deps, action, invited.id, join, [change, used], from);
  // From now on, the API requires keys.
  deps.gate.forget();
  return token;
}

/** The operator's properties that a new factor sets, and a change: the new passkey, or with a new password the end of all sessions. */
async function newFactorOf(deps: LoginDeps, operator: Operator, factor: Factor, site: Site) {
  const { id: operatorId } = operator;
  if ('answer' in factor) {
    const passkey = await verifyNewPasskey(deps, site, operatorId, factor.answer);
    return { set: {}, change: { type: 'passkey_added', passkey } as Change };
  }
  const passwordHash = await hashPassword(factor.password, deps.randomBytes);
  const change = allSessionsEnded(deps, operatorId);
  if (!deps.needsSecondFactor && factor.code === '') return { set: { passwordHash }, change };
  const offered = withUsedCode(deps, { ...operator, totpSealed: factor.totp, totpStep: 0 }, factor.code);
  if (!offered) throw refusedLogin(deps);
  const { totpSealed, totpStep } = offered;
  return { set: { passwordHash, totpSealed, totpStep }, change };
}

/** Saves the operator of a proven factor together with the new session. */
async function enter(
  deps: LoginDeps,
  action: string,
  operatorId: string,
  check: (operator: Operator) => Operator | Promise<Operator>,
  along: Change[],
  from: From,
): Promise<string> {
  const { realNow, log } = deps;
  const known = await deps.store.operator(operatorId);
  if (!known) throw refusedLogin(deps);
  const { store } = audited(deps, action, principalOfOperator(known, 'production', null));
  const { token, changes } = newLogin(deps, operatorId, from);
  const decide = async (operator: Operator) => {
    if (!hasAccess(operator)) throw refusedLogin(deps);
    return { ...(await check(operator)), lastLoginAt: realNow() };
  };
  await changeOperator({ store, caller: undefined }, operatorId, decide, [...along, ...changes]);
  log.info({ operator: operatorId }, 'operator logged in');
  return token;
}

/** A new token, and the changes that store its session and end the one before. */
function newLogin({ realNow, randomBytes }: LoginDeps, ownerId: string, { address, before }: From) {
  const token = newSecret(randomBytes);
  const at = realNow();
  // A repeated proof does not prolong the 12 hours of the session that it replaces.
  const created = before?.ownerId === ownerId ? before.created : at;
  const times = { created, lastActiveAt: at, provenAt: at, endedAt: null };
  const login = { ownerId, ...times, address, id: hashOfSecret(token) };
  const changes: Change[] = [{ type: 'operator_session_created', login }];
  if (before) changes.push({ type: 'operator_session_ended', login: before, at });
  return { token, changes };
}

/** The error of a refused login, which is recorded for a known operator. The response does not wait, because its time would reveal the name. */
function refusedLogin(deps: LoginDeps, known?: Operator): GatewayError {
  if (known) {
    const caller = principalOfOperator(known, 'production', null);
    recordRefusal({ ...deps, caller }, { action: 'logIn', kind: 'change' }).catch((error: Error) => {
      deps.log.warn({ operator: known.id, reason: error.message }, 'a refused login was not recorded');
    });
  }
  return new GatewayError('forbidden', 'The login was not accepted.', {
    suggestion: 'Check address, password and code. A code is valid once. An admin can renew your access.',
  });
}
