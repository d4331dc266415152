extension FaultInjection {
  /// One fault: `count` calls, starting with the `first`-th (1 is the next), return `status`.
  package struct Rule: Sendable {
    package var call: Call
    package var status: Int32
    package var first: Int
    package var count: Int

    package init(_ call: Call, returns status: Int32, first: Int = 1, count: Int = 1) {
      self.call = call
      self.status = status
      self.first = first
      self.count = count
    }
  }
}
