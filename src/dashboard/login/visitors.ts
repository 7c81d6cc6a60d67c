import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../domain/gateway-error.ts';
import { newSecret } from '../../domain/operator.ts';
import { type Principal, machinePrincipal, principalOfKey, principalOfOperator } from '../../domain/principal.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { formOf } from '../../html/html-page.ts';
import { type Login, findLogin } from '../../operations/access/operator-sessions.ts';
import type { DashboardDeps, DashboardSettings, Visitor } from '../visit.ts';
import { isFormToken } from './form-token.ts';
import { tokenOf } from './session-cookie.ts';

/** Finds the people in front of the browsers. */
export type Visitors = ReturnType<typeof createVisitors>;

export function createVisitors(deps: DashboardDeps, settings: DashboardSettings) {
  const machineSecret = newSecret(deps.randomBytes);
  /** True if the service has neither keys nor operators and only this machine reaches it: nobody needs to log in. */
  const isOpen = async () => !settings.isExposed && (await deps.gate.isOpen());
  /** API keys log in until the first operator has joined. */
  const acceptsKeys = async () => !(await deps.gate.hasOperators());

  /** The login of a request; undefined in the open service, and for a person who must log in. */
  async function login(request: FastifyRequest): Promise<Login | undefined> {
    const token = tokenOf(settings, request);
    // The script that keeps a page current sends requests, too, but they are no activity of a person.
    const isActive = request.headers['sec-fetch-dest'] !== 'empty';
    const found = token === undefined ? undefined : await findLogin(deps, token, isActive);
    return found?.operator || (found && (await acceptsKeys())) ? found : undefined;
  }

  return {
    login,
    isOpen,
    acceptsKeys,
    /** The visitor in an environment; undefined if the person must log in first. Throws GatewayError `forbidden` without a role there. */
    async find(request: FastifyRequest, reply: FastifyReply, environment: Environment): Promise<Visitor | undefined> {
      const found = await login(request);
      if (found) {
        const { id } = found.session;
        await request.server.limit('visit', request, reply, { id, environment });
        const visited = { environments: rolesIn(found), loginId: id, formSecret: tokenOf(settings, request)! };
        return { ...visited, principal: principalOf(found, environment) };
      }
      if (!(await isOpen())) return undefined;
      const principal = machinePrincipal(environment);
      return { principal, formSecret: machineSecret, environments: ENVIRONMENTS, loginId: undefined };
    },
    /** Environments in which the person of a request has a role; undefined if the person must log in first. */
    async environments(request: FastifyRequest): Promise<readonly Environment[] | undefined> {
      const found = await login(request);
      return found ? rolesIn(found) : (await isOpen()) ? ENVIRONMENTS : undefined;
    },
  };
}

/** Throws GatewayError `forbidden` for a form without a token of this session. */
export function assertForm(request: FastifyRequest, formSecret: string | undefined): void {
  if (formSecret !== undefined && isFormToken(formOf(request).get('token'), formSecret)) return;
  throw new GatewayError('forbidden', 'This form belongs to another session or is no longer valid.', {
    suggestion: 'Open the page again, and send the form again. Nothing was changed.',
  });
}

function rolesIn({ operator, key }: Login): readonly Environment[] {
  return ENVIRONMENTS.filter((environment) =>
    operator ? operator.roles[environment] !== null : key!.environment === environment,
  );
}

function principalOf(login: Login, environment: Environment): Principal {
  const { operator, key, session } = login;
  if (!rolesIn(login).includes(environment)) {
    throw new GatewayError('forbidden', `${operator?.email ?? key!.name} has no role in ${environment}.`, {
      suggestion: 'Ask an admin for a role, or open the other environment.',
    });
  }
  if (!operator) return principalOfKey(key!);
  return principalOfOperator(operator, environment, session.provenAt);
}
