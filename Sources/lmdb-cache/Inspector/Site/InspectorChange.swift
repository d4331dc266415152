/// A change that the inspector can make.
enum InspectorChange: Equatable {
  case removal(key: String)
  case trim(TrimLimits)

  static func == (first: InspectorChange, second: InspectorChange) -> Bool {
    switch (first, second) {
    // Bytewise, as the cache compares keys: the user confirmed exactly this one.
    case (.removal(let first), .removal(let second)): first.utf8.elementsEqual(second.utf8)
    case (.trim(let first), .trim(let second)): first == second
    default: false
    }
  }
}
