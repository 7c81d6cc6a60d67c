import type { FastifyRequest } from 'fastify';
import { machinePrincipal } from '../../domain/principal.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import type { DashboardDeps, Visitor } from '../visit.ts';

const SECRET_BYTES = 32;

/** Finds the visitor of a request in an environment; undefined if the person must log in first. */
export type FindVisitor = (request: FastifyRequest, environment: Environment) => Promise<Visitor | undefined>;

/** While the service has no API key, everybody on this machine is the visitor, as for the API. */
export function createVisitors({ gate, randomBytes }: DashboardDeps): FindVisitor {
  const formSecret = Buffer.from(randomBytes(SECRET_BYTES)).toString('base64url');
  return async (_request, environment) => {
    if (!(await gate.isOpen())) return undefined;
    return { principal: machinePrincipal(environment), formSecret, environments: ENVIRONMENTS };
  };
}
