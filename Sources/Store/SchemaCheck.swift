/// Looks for objects in a database besides our tables and indexes, and for changed tables.
///
/// Triggers and views have no effect (`csqlite_harden`), but a view may replace a table. An added index or generated
/// column would be evaluated at every change.
struct SchemaCheck {
    private struct Object: Equatable {
        let kind: String
        let isVirtual: Bool
        /// The statement that created it, with its rules and collations.
        let text: String

        /// Later versions add columns to tables.
        func isLike(_ other: Object) -> Bool {
            kind == other.kind && isVirtual == other.isVirtual && (kind == "table" || text == other.text)
        }
    }
    private let ours: [String: Object]
    private let columns: [String: String]

    /// Makes our tables in memory, for the comparison.
    init() throws(StoreError) {
        let model = try Database(path: ":memory:", modeSource: "/", busyLimitMilliseconds: 0)
        try Schema.migrate(model, from: 0)
        ours = try Self.objects(of: model)
        var columns: [String: String] = [:]
        for (name, object) in ours where object.kind == "table" {
            columns[name] = try Self.columns(of: name, in: model)
        }
        self.columns = columns
    }

    /// Checks that there are only plain tables besides our objects, in any version; reads no table.
    func checkObjects(of database: borrowing Database) throws(StoreError) {
        let found = try Self.objects(of: database)
        for (name, object) in found.sorted(by: { $0.key < $1.key }) {
            if let known = ours[name] {
                if !known.isLike(object) { throw .damaged("its \(object.kind) \(name) was changed by another program") }
            } else if object.kind != "table" || object.isVirtual {
                throw .damaged("another program added the \(object.isVirtual ? "virtual " : "")\(object.kind) \(name)")
            }
        }
    }

    /// Checks that a database of our version has all our objects, and that the tables have our columns, none of them
    /// computed.
    func checkWhole(_ database: borrowing Database) throws(StoreError) {
        let found = try Self.objects(of: database)
        for (name, object) in ours {
            guard let object = found[name] else { throw .damaged("its \(object.kind) \(name) is missing") }
            if object != ours[name] { throw .damaged("its \(object.kind) \(name) was changed by another program") }
        }
        for (name, expected) in columns where try Self.columns(of: name, in: database) != expected {
            throw .damaged("its table \(name) has other columns")
        }
    }

    private static func objects(of database: borrowing Database) throws(StoreError) -> [String: Object] {
        let statement = try database.prepare(
            "SELECT name, type, rootpage, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
        var objects: [String: Object] = [:]
        while try statement.step() {
            let kind = statement.text(1)
            objects[statement.text(0)] = Object(
                kind: kind,
                isVirtual: kind == "table" && statement.integer(2) == 0,
                text: statement.text(3)
            )
        }
        return objects
    }

    private static func columns(of table: String, in database: borrowing Database) throws(StoreError) -> String {
        let statement = try database.prepare(
            "SELECT name, type, \"notnull\", coalesce(dflt_value, ''), pk, hidden FROM pragma_table_xinfo(?1)")
        try statement.bind(1, table)
        var lines: [String] = []
        while try statement.step() { lines.append((0..<6).map { statement.text($0) }.joined(separator: " ")) }
        return lines.joined(separator: "\n")
    }
}
