/// Class names in an archive. Each class description is searched once, however long and however often referred to.
struct KeyedArchiveClassNames {
  private var names: [Int32: String] = [:]

  /// The name of the class that an object describes; `nil` for other objects.
  mutating func name(_ number: Int, in graph: KeyedArchiveGraph) throws(KeyedArchiveError) -> String? {
    let place = try graph.place(of: number)
    if let known = names[place] { return known }
    guard case .dictionary(let keys, let values) = graph.list[place] else { return nil }
    var found: String?
    for (field, value) in zip(keys, values) {
      guard case .string(let key) = graph.list[field] else { return nil }
      // Not a table of keys, which may be long and shared by many descriptions.
      guard key.utf8.elementsEqual("$classname".utf8) else { continue }
      guard found == nil, case .string(let name) = graph.list[value] else { return nil }
      found = name
    }
    names[place] = found
    return found
  }
}
