extension ModelHistory {
  /// Histories that once failed, with their defects.
  package static let pinned: [(finding: String, history: ModelHistory)] = [
    (
      "Long after the wall clock was set back, the time jumped ahead by as much, and what expires later was gone",
      ModelHistory(
        seed: 48,
        steps: [
          .setClock(by: -10_140),
          .advance(248_314),
          .perform(.set("a/2", .number(880), .sliding(3_846)), .disk),
          .perform(.backUp, .cache),
        ])
    )
  ]
}
