/** Queue of pending outcomes, sorted by time and then by insertion; a binary heap. */
export interface FeedbackQueue<Item> {
  add(at: number, item: Item): void;
  /** Time of the earliest item in seconds since the start; Infinity for an empty queue. */
  nextAt(): number;
  /** Removes the earliest item. */
  take(): Item;
}

interface Node<Item> {
  at: number;
  order: number;
  item: Item;
}

function isSooner<Item>(one: Node<Item>, other: Node<Item>): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

export function feedbackQueue<Item>(): FeedbackQueue<Item> {
  const nodes: Node<Item>[] = [];
  let added = 0;

  const add = (at: number, item: Item): void => {
    const node = { at, order: added, item };
    added += 1;
    let place = nodes.length;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!isSooner(node, nodes[parent]!)) break;
      nodes[place] = nodes[parent]!;
      place = parent;
    }
    nodes[place] = node;
  };

  const sink = (node: Node<Item>): void => {
    let place = 0;
    for (let child = 1; child < nodes.length; child = 2 * place + 1) {
      const right = child + 1;
      const sooner = right < nodes.length && isSooner(nodes[right]!, nodes[child]!) ? right : child;
      if (!isSooner(nodes[sooner]!, node)) break;
      nodes[place] = nodes[sooner]!;
      place = sooner;
    }
    nodes[place] = node;
  };

  const take = (): Item => {
    const [first] = nodes;
    const last = nodes.pop();
    if (!first || !last) throw new Error('the queue is empty');
    if (nodes.length > 0) sink(last);
    return first.item;
  };

  return { add, take, nextAt: () => nodes[0]?.at ?? Infinity };
}
