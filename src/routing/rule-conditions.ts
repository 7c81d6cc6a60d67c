import { isRecord } from '../domain/is-record.ts';
import { type RuleFault, MAX_VALUES, arrayFaults, codeOf, textFaults, within } from './rule-faults.ts';
import { type Operator, type RuleField, type RuleTest, FIELD_NAMES, fieldNamed } from './rule-fields.ts';

/** Condition of a rule: every field and every connective in it must hold. */
export interface Condition {
  all?: readonly Condition[];
  any?: readonly Condition[];
  not?: Condition;
  [field: string]: RuleTest | readonly Condition[] | Condition | undefined;
}

const MAX_NESTING = 8;

/** All faults of a condition, in the order of its fields; none for a valid `Condition`. */
export function conditionFaults(value: unknown, depth = 0): RuleFault[] {
  if (!isRecord(value)) return [{ path: [], code: 'invalid_type', message: 'must be an object of fields to compare' }];
  const keys = Object.keys(value);
  if (keys.length === 0) {
    const remedy = 'compare at least one field (a rule without "when" always applies)';
    return [{ path: [], code: 'too_small', message: 'compares nothing', remedy }];
  }
  const faults = keys.slice(0, MAX_VALUES).flatMap((key) => within([key], partFaults(key, value[key], depth)));
  if (keys.length <= MAX_VALUES) return faults;
  return [{ path: [], code: 'too_big', message: `must be an object of at most ${MAX_VALUES} fields` }, ...faults];
}

function partFaults(key: string, part: unknown, depth: number): RuleFault[] {
  if (key === 'all' || key === 'any' || key === 'not') {
    if (depth >= MAX_NESTING) {
      const message = `is nested too deep: all, any and not may be nested ${MAX_NESTING} deep`;
      return [{ path: [], code: 'too_big', message, remedy: 'use less nesting, or several rules' }];
    }
    if (key === 'not') return conditionFaults(part, depth + 1);
    return listFaults(part, 'conditions', (each) => conditionFaults(each, depth + 1));
  }
  const field = fieldNamed(key);
  if (field) return testFaults(key, field, part);
  const remedy = `use ${FIELD_NAMES.join(', ')}, metadata.<key>, all, any or not`;
  return [{ path: [], code: 'unrecognized_keys', message: 'is not a field that a rule can compare', remedy }];
}

function testFaults(name: string, field: RuleField, test: unknown): RuleFault[] {
  if (Array.isArray(test)) return operandFaults(field, 'in', test);
  if (!isRecord(test)) return operandFaults(field, 'eq', test);
  const keys = Object.keys(test);
  const remedy = `use ${field.operators.join(', ')}`;
  if (keys.length === 0) return [{ path: [], code: 'too_small', message: 'compares nothing', remedy }];
  return keys.slice(0, MAX_VALUES).flatMap((key) => {
    const operator = field.operators.find((each) => each === key);
    if (operator) return within([key], operandFaults(field, operator, test[key]));
    const message = `is not an operator of ${name.startsWith('metadata.') ? 'metadata' : name}`;
    return [{ path: [key], code: 'unrecognized_keys', message, remedy }];
  });
}

function operandFaults(field: RuleField, operator: Operator, value: unknown): RuleFault[] {
  switch (operator) {
    case 'in':
    case 'nin':
      return listFaults(value, 'values', (each) => valueFaults(field, each));
    case 'exists':
      return typeof value === 'boolean' ? [] : [{ path: [], code: 'invalid_type', message: 'must be true or false' }];
    case 'prefix':
    case 'suffix':
      return textFaults(value);
    default:
      return valueFaults(field, value);
  }
}

function valueFaults(field: RuleField, value: unknown): RuleFault[] {
  if (field.accepts(value)) return [];
  const type = field.operators.includes('gt') ? 'number' : 'string';
  const remedy = value === null && field.operators.includes('exists') ? { remedy: 'use {"exists":false}' } : {};
  return [{ path: [], code: codeOf(value, type), message: `must be ${field.wanted}`, ...remedy }];
}

/** Faults of an array and of its first 100 entries, which are reported even if the array is too long. */
function listFaults(value: unknown, entries: string, faultsOf: (entry: unknown) => RuleFault[]): RuleFault[] {
  const first: unknown[] = Array.isArray(value) ? value.slice(0, MAX_VALUES) : [];
  return [...arrayFaults(value, entries), ...first.flatMap((entry, index) => within([index], faultsOf(entry)))];
}
