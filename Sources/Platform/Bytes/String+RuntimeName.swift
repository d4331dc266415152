extension String {
  /// Whether Swift's runtime can safely look it up as a type name: the runtime reads bytes below the space as memory
  /// offsets.
  package var canBeTypeName: Bool {
    !utf8.isEmpty && utf8.count <= 1_024 && utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
  }
}
