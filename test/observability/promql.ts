import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

/** Content of `/metrics`: for each metric, the values of each label. */
export type Exposed = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** Labels that Prometheus adds to every scraped series, and the metric of the scrape itself. */
const OF_THE_SCRAPE = new Set(['job', 'instance']);
const UP = 'up';
// Only some of them occur in a test.
const HTTP_CLASS = /^[1-5]xx$/;

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function readExposition(text: string): Exposed {
  const metrics = new Map<string, Map<string, Set<string>>>();
  for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
    const [, name, labels = ''] = LINE.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a line of the exposition: ${line}`);
    const known = metrics.get(name) ?? new Map<string, Set<string>>();
    metrics.set(name, known);
    for (const [, label, value] of labels.matchAll(LABEL)) {
      const values = known.get(label!) ?? new Set();
      known.set(label!, values.add(value!));
    }
  }
  return metrics;
}

interface Selector {
  metric: string;
  matchers: { label: string; operator: string; value: string }[];
}

interface Expression {
  isValid: boolean;
  selectors: Selector[];
  /** Labels by which it groups, or matches two sides. */
  grouping: string[];
}

/** Variables of a dashboard in the form in which Grafana sends them. */
function filled(expression: string): string {
  return expression.replaceAll('$__rate_interval', '5m').replaceAll(/\$(?:job|instance|environment)\b/g, '.+');
}

function parse(text: string): Expression {
  const found: Expression = { isValid: true, selectors: [], grouping: [] };
  const read = (from: number, to: number) => text.slice(from, to);
  parser.parse(text).iterate({
    enter({ node, type }) {
      if (type.isError) found.isValid = false;
      if (type.name === 'VectorSelector') {
        const name = node.getChild('Identifier');
        found.selectors.push({ metric: name ? read(name.from, name.to) : '', matchers: [] });
      }
      if (type.name === 'UnquotedLabelMatcher') {
        const [label, operator, value] = ['LabelName', 'MatchOp', 'StringLiteral'].map((child) => {
          const part = node.getChild(child);
          return part ? read(part.from, part.to) : '';
        });
        found.selectors.at(-1)?.matchers.push({ label: label!, operator: operator!, value: value!.slice(1, -1) });
      }
      if (type.name === 'GroupingLabels') {
        found.grouping.push(...(read(node.from, node.to).match(/\w+/g) ?? []));
      }
    },
  });
  return found;
}

const COMPARISONS: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
};

/** Evaluates a condition of comparisons with numbers, joined by `and` and `or`; `values` has the operands by their text. */
export function isMet(condition: string, values: Readonly<Record<string, number>>): boolean {
  const read = ({ from, to }: SyntaxNode) => condition.slice(from, to);
  function met(node: SyntaxNode): boolean {
    if (node.name !== 'BinaryExpr') return met(node.firstChild!);
    const left = node.firstChild!;
    const right = node.lastChild!;
    const operator = read(left.nextSibling!);
    if (operator === 'and') return met(left) && met(right);
    if (operator === 'or') return met(left) || met(right);
    const [compare, value] = [COMPARISONS[operator], values[read(left)]];
    if (!compare || value === undefined) throw new Error(`cannot tell whether ${read(node)}`);
    return compare(value, Number(read(right)));
  }
  return met(parser.parse(condition).topNode);
}

/** Faults of an expression, given the metrics of a service; `shown` are the labels in the texts about it. */
export function faultsOf(expression: string, shown: readonly string[], exposed: Exposed): string[] {
  const { isValid, selectors, grouping } = parse(filled(expression));
  if (!isValid) return [`not PromQL: ${expression}`];
  if (selectors.length === 0) return [`names no metric: ${expression}`];
  const labelsOf = (metric: string) => [...(exposed.get(metric)?.keys() ?? []), ...OF_THE_SCRAPE];
  const known = new Set(selectors.flatMap(({ metric }) => labelsOf(metric)));
  const unknown = [...grouping, ...(grouping.length > 0 ? [] : shown)].filter((label) => !known.has(label));
  // The result has only labels of the grouping.
  const lost = grouping.length > 0 ? shown.filter((label) => !grouping.includes(label)) : [];
  return [
    ...selectors.flatMap((selector) => faultsOfSelector(selector, exposed)),
    ...unknown.map((label) => `no metric of it has the label ${label}: ${expression}`),
    ...lost.map((label) => `the label ${label} is not in the result: ${expression}`),
  ];
}

function faultsOfSelector({ metric, matchers }: Selector, exposed: Exposed): string[] {
  const labels = exposed.get(metric);
  if (!labels && metric !== UP) return [`there is no metric ${metric}`];
  return matchers.flatMap(({ label, operator, value }) => {
    if (OF_THE_SCRAPE.has(label)) return [];
    const values = labels?.get(label);
    if (!values) return [`${metric} has no label ${label}`];
    if (label === 'status' && HTTP_CLASS.test(value)) return [];
    const isThere = operator.endsWith('~')
      ? [...values].some((each) => new RegExp(`^(?:${value})$`).test(each))
      : values.has(value);
    return isThere ? [] : [`${metric} has no ${label} ${value}`];
  });
}
