import {
  FIELD_NAMES,
  type Operator,
  type RuleFault,
  type RuleField,
  type RuleOperators,
  type RuleValue,
  fieldNamed,
  isRuleText,
} from './rule-fields.ts';

/** Test of one field: an equal value, an array of allowed values, or operators. */
export type RuleTest = RuleValue | readonly RuleValue[] | RuleOperators;

/** Condition of a rule: every field and every connective in it must hold. */
export interface Condition {
  all?: readonly Condition[];
  any?: readonly Condition[];
  not?: Condition;
  [field: string]: RuleTest | readonly Condition[] | Condition | undefined;
}

type Path = (string | number)[];

const MAX_NESTING = 8;
/** Maximum number of values of an array, and of fields of a condition. */
export const MAX_VALUES = 100;

/** All faults of a condition, in the order of its fields; none for a valid `Condition`. */
export function conditionFaults(value: unknown): RuleFault[] {
  const faults: RuleFault[] = [];
  inspectCondition(value, [], 0, faults);
  return faults;
}

function inspectCondition(value: unknown, path: Path, depth: number, faults: RuleFault[]): void {
  if (!isObject(value)) {
    faults.push({ path, code: 'invalid_type', message: 'must be an object of fields to compare' });
    return;
  }
  const keys = Object.keys(value);
  if (keys.length === 0) {
    const remedy = 'compare at least one field (a rule without "when" always applies)';
    faults.push({ path, code: 'too_small', message: 'compares nothing', remedy });
  }
  if (keys.length > MAX_VALUES) {
    faults.push({ path, code: 'too_big', message: `must be an object of at most ${MAX_VALUES} fields` });
  }
  for (const key of keys.slice(0, MAX_VALUES)) inspectPart(key, value[key], [...path, key], depth, faults);
}

function inspectPart(key: string, part: unknown, path: Path, depth: number, faults: RuleFault[]): void {
  if (key === 'all' || key === 'any' || key === 'not') {
    if (depth >= MAX_NESTING) {
      const message = `is nested too deep: all, any and not may be nested ${MAX_NESTING} deep`;
      faults.push({ path, code: 'too_big', message, remedy: 'use less nesting, or several rules' });
    } else if (key === 'not') {
      inspectCondition(part, path, depth + 1, faults);
    } else {
      for (const [index, each] of arrayOf(part, 'conditions', path, faults)) {
        inspectCondition(each, [...path, index], depth + 1, faults);
      }
    }
    return;
  }
  const field = fieldNamed(key);
  if (field) inspectTest(key, field, part, path, faults);
  else {
    const remedy = `use ${FIELD_NAMES.join(', ')}, metadata.<key>, all, any or not`;
    faults.push({ path, code: 'unrecognized_keys', message: 'is not a field that a rule can compare', remedy });
  }
}

function inspectTest(name: string, field: RuleField, test: unknown, path: Path, faults: RuleFault[]): void {
  if (Array.isArray(test)) inspectValues(field, test, path, faults);
  else if (!isObject(test)) inspectValue(field, test, path, faults);
  else {
    const operators = Object.keys(test);
    if (operators.length === 0) {
      const remedy = `use ${field.operators.join(', ')}`;
      faults.push({ path, code: 'too_small', message: 'compares nothing', remedy });
    }
    for (const operator of operators.slice(0, MAX_VALUES)) {
      const place = [...path, operator];
      if (isOperatorOf(field, operator)) inspectOperand(field, operator, test[operator], place, faults);
      else {
        const remedy = `use ${field.operators.join(', ')}`;
        const message = `is not an operator of ${name.startsWith('metadata.') ? 'metadata' : name}`;
        faults.push({ path: place, code: 'unrecognized_keys', message, remedy });
      }
    }
  }
}

function isOperatorOf(field: RuleField, name: string): name is Operator {
  return (field.operators as readonly string[]).includes(name);
}

function inspectOperand(field: RuleField, operator: Operator, value: unknown, path: Path, faults: RuleFault[]): void {
  if (operator === 'in' || operator === 'nin') inspectValues(field, value, path, faults);
  else if (operator === 'exists') {
    if (typeof value !== 'boolean') faults.push({ path, code: 'invalid_type', message: 'must be true or false' });
  } else if (operator === 'prefix' || operator === 'suffix') {
    if (typeof value === 'string' && isRuleText(value, 1)) return;
    faults.push({ path, code: codeOf(value, 'string'), message: 'must be a string of 1 to 500 characters' });
  } else inspectValue(field, value, path, faults);
}

function inspectValues(field: RuleField, values: unknown, path: Path, faults: RuleFault[]): void {
  for (const [index, value] of arrayOf(values, 'values', path, faults)) {
    inspectValue(field, value, [...path, index], faults);
  }
}

function inspectValue(field: RuleField, value: unknown, path: Path, faults: RuleFault[]): void {
  if (field.accepts(value)) return;
  const type = field.operators.includes('gt') ? 'number' : 'string';
  const remedy = value === null && field.operators.includes('exists') ? { remedy: 'use {"exists":false}' } : {};
  faults.push({ path, code: codeOf(value, type), message: `must be ${field.wanted}`, ...remedy });
}

function codeOf(value: unknown, type: 'string' | 'number'): string {
  return typeof value === type ? 'invalid_value' : 'invalid_type';
}

/** The first 100 entries of an array, so that their faults are reported even if the array is too long. */
function arrayOf(value: unknown, what: string, path: Path, faults: RuleFault[]): [index: number, each: unknown][] {
  const message = `must be an array of 1 to ${MAX_VALUES} ${what}`;
  if (!Array.isArray(value)) {
    faults.push({ path, code: 'invalid_type', message });
    return [];
  }
  if (value.length === 0) faults.push({ path, code: 'too_small', message });
  if (value.length > MAX_VALUES) faults.push({ path, code: 'too_big', message });
  return [...value.slice(0, MAX_VALUES).entries()];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
