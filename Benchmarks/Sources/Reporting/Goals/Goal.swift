/// A target of the project, relative to a peer or absolute.
public struct Goal: Sendable {
  /// Selects one of the results.
  struct Selection: Sendable {
    let workload: String
    let subject: String
    var threads = 1
  }

  public let name: String
  public let bound: Bound
  let own: Selection
  let peer: Selection
  /// Applies to both selections.
  private let parameters: @Sendable (Parameters) -> Bool

  /// - Parameter peer: nil if the bound is absolute.
  init(
    _ name: String, _ bound: Bound, _ own: Selection, of peer: Selection? = nil,
    where parameters: @escaping @Sendable (Parameters) -> Bool
  ) {
    self.name = name
    self.bound = bound
    self.own = own
    self.peer = peer ?? own
    self.parameters = parameters
  }

  /// nil if neither was measured. If only one was, the goal counts as not measured.
  public func judgement(_ results: [SubjectResult]) -> Judgement? {
    switch (find(own, results), find(peer, results)) {
    case (nil, nil): return nil
    case (let own?, let peer?):
      return Judgement(goal: name, bound: bound, measured: bound.figure(own: own, peer: peer))
    default: return Judgement(goal: name, bound: bound, measured: nil)
    }
  }

  private func find(_ selection: Selection, _ results: [SubjectResult]) -> SubjectResult? {
    results.first {
      $0.workload == selection.workload && $0.subject == selection.subject && $0.threads == selection.threads
        && parameters($0.parameters)
    }
  }
}
