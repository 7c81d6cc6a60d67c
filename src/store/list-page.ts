/** A page of a list, newest first, before or after the record of an id. */
export interface Page {
  limit: number;
  startingAfter?: string;
  endingBefore?: string;
}

export interface PageResult<Item> {
  items: Item[];
  hasMore: boolean;
}
