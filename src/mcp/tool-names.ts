import { TOOLS } from '../operations/registry.ts';

/** Clients refuse dots in names: `checkout.create` is `checkout_create`. */
export function toolName(operation: string): string {
  return operation.replaceAll('.', '_');
}

export const TOOL_NAMES: ReadonlySet<unknown> = new Set(TOOLS.map(({ name }) => toolName(name)));
