/// A binary heap whose elements can also be found by id: insertion and removal cost O(log n).
struct IndexedHeap<ID: Hashable & Sendable, Key: Comparable & Sendable>: Sendable {
    struct Element: Sendable {
        var id: ID
        var key: Key
    }

    private var elements: [Element] = []
    private var positions: [ID: Int] = [:]

    var isEmpty: Bool { elements.isEmpty }
    var count: Int { elements.count }
    var first: Element? { elements.first }

    /// Adds an element, or moves it to where its new key belongs.
    mutating func update(_ id: ID, key: Key) {
        if let position = positions[id] {
            elements[position].key = key
            restore(position)
        } else {
            elements.append(Element(id: id, key: key))
            positions[id] = elements.count - 1
            restore(elements.count - 1)
        }
    }

    /// Removes an element; false when there was none with this id.
    @discardableResult
    mutating func remove(_ id: ID) -> Bool {
        guard let position = positions.removeValue(forKey: id) else { return false }
        let last = elements.removeLast()
        if position < elements.count {
            elements[position] = last
            positions[last.id] = position
            restore(position)
        }
        return true
    }

    /// The least element that satisfies the predicate; visits little more than the smaller ones that do not.
    func first(where predicate: (Element) -> Bool) -> Element? {
        // The frontier contains positions whose ancestors have all been visited.
        var frontier = IndexedHeap<Int, Key>()
        if let root = elements.first { frontier.update(0, key: root.key) }
        while let next = frontier.first {
            if predicate(elements[next.id]) { return elements[next.id] }
            frontier.remove(next.id)
            for child in [2 * next.id + 1, 2 * next.id + 2] where child < elements.count {
                frontier.update(child, key: elements[child].key)
            }
        }
        return nil
    }

    private mutating func restore(_ position: Int) {
        siftDown(siftUp(position))
    }

    private mutating func siftUp(_ start: Int) -> Int {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard elements[position].key < elements[parent].key else { break }
            exchange(position, parent)
            position = parent
        }
        return position
    }

    private mutating func siftDown(_ start: Int) {
        var position = start
        while true {
            var least = position
            for child in [2 * position + 1, 2 * position + 2] where child < elements.count {
                if elements[child].key < elements[least].key { least = child }
            }
            if least == position { return }
            exchange(position, least)
            position = least
        }
    }

    private mutating func exchange(_ a: Int, _ b: Int) {
        elements.swapAt(a, b)
        positions[elements[a].id] = a
        positions[elements[b].id] = b
    }
}
