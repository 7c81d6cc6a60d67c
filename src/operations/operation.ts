import type { z } from 'zod';
import type { EndpointPermission } from '../contract/endpoint.ts';
import { type InputReader, inputReader } from '../contract/input-problems.ts';
import type { ErrorCode } from '../domain/gateway-error.ts';
import { traced } from '../telemetry/tracing.ts';
import type { Deps } from './deps.ts';

/** Tool annotations of the Model Context Protocol. */
export interface Annotations {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** A possible error, with advice for the caller. */
export interface KnownError {
  code: ErrorCode;
  recovery: 'fix_input' | 'retry_same' | 'stop';
  /** Advice in one sentence. */
  do: string;
}

interface Outcome<Result> {
  result: Result;
  /** True for the answer to an earlier request with the same idempotency key. */
  replayed?: boolean;
}

interface Description {
  /** Dotted, for example `checkout.create`. */
  name: string;
  /** Effect of the operation, when to use it and when not, and its limits. */
  description: string;
  annotations: Annotations;
  /** Permission that the caller needs. */
  access: EndpointPermission;
  /** Operation id of the REST endpoint that does the same, if the audit records it. */
  action?: string;
  /** Next step after success. */
  next: string;
}

export type ExampleDeps = Pick<Deps, 'routes' | 'urls'>;

/** One operation for agents, from which every transport (REST, MCP, command line) is derived. */
export interface Operation extends Description {
  input: z.ZodType;
  output: z.ZodType;
  /** Validates the input and runs the operation. Throws GatewayError; `hint` is appended to the suggestion of `invalid_input`. */
  execute(deps: Deps, sent: unknown, hint: string): Promise<Outcome<unknown>>;
}

/** Operation that agents call with `POST /api/agent/actions/{action}`, and people with a `tillway` command. */
export interface Action extends Operation {
  title: string;
  /** Errors other than those of every action: `invalid_input`, `invalid_json` and `unavailable`. */
  errors: readonly KnownError[];
  /** Arguments of the `tillway` command with the same effect as the input; not quoted. */
  command(input: Record<string, unknown>): string[];
  /**
   * An example call with routes that this service has. `response` has the fields that a caller cannot know from the request or find
   * elsewhere in the capabilities document.
   */
  example(deps: ExampleDeps): { request: Record<string, unknown>; response: Record<string, unknown> };
}

interface Definition<Input extends z.ZodType, Output extends z.ZodType> extends Description {
  input: Input;
  output: Output;
  /** Reader of the input, if its validation depends on the settings of the service. Default: the schema `input`. */
  reader?(deps: Deps): InputReader<z.output<Input>>;
  /** `sent` is the unparsed input, with the original order of its keys. */
  run(
    deps: Deps,
    input: z.output<Input>,
    sent: unknown,
  ): Outcome<z.output<Output>> | Promise<Outcome<z.output<Output>>>;
}

export function defineOperation<Input extends z.ZodType, Output extends z.ZodType>({
  run,
  reader,
  ...definition
}: Definition<Input, Output>): Operation {
  const usual = inputReader(definition.input);
  return {
    ...definition,
    execute: (deps, sent, hint) =>
      traced(deps.tracing, { name: definition.name }, async () =>
        run(deps, (reader?.(deps) ?? usual).read(sent, hint), sent),
      ),
  };
}

export function defineAction<Input extends z.ZodType, Output extends z.ZodType>(
  definition: Definition<Input, Output> & Omit<Action, keyof Operation>,
): Action {
  const { title, command, example, errors, ...operation } = definition;
  return { ...defineOperation(operation), title, command, example, errors };
}

export const READ_ONLY: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

export const IDEMPOTENCY_CONFLICT = known(
  'idempotency_conflict',
  'fix_input',
  'Send the first body of this key, or a new key.',
);
export const BLOCKED = known('forbidden', 'stop', 'Customer is blocked, or a routing rule refuses.');
export const SPEND_LIMIT = known(
  'spend_limit_exceeded',
  'stop',
  'Key may not spend so much; message says what is left.',
);
export const NO_ROUTE = known('no_eligible_route', 'stop', 'Message says why.');

function known(code: ErrorCode, recovery: KnownError['recovery'], advice: string): KnownError {
  return { code, recovery, do: advice };
}
