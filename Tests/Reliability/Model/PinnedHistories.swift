extension ModelHistory {
  /// Histories that once failed, with what they found.
  package static let pinned: [(finding: String, history: ModelHistory)] = []
}
