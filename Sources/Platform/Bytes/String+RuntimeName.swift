extension String {
  /// Whether it can be given to Swift's runtime as the name of a type, wherever it comes from: the runtime reads bytes below
  /// the space as offsets of what is in memory.
  package var canBeTypeName: Bool {
    !utf8.isEmpty && utf8.count <= 1_024 && utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
  }
}
