/// The files of the web page: those of the folder `Files`. A test compares the list with the folder.
///
/// The names of the resources are the package manager's: the last part of the path, with underscores.
public enum PageFiles {
    /// The document, which browsers get at `/`.
    public static let document = PageFile("index.html", PackageResources.index_html)

    /// All files that the document refers to, by their names.
    public static let all: [String: PageFile] = Dictionary(
        uniqueKeysWithValues: list.map { ($0.0, PageFile($0.0, $0.1)) })

    private static let list: [(String, [UInt8])] = [
        ("api.js", PackageResources.api_js),
        ("app.js", PackageResources.app_js),
        ("catalogue.js", PackageResources.catalogue_js),
        ("conversation.js", PackageResources.conversation_js),
        ("dom.js", PackageResources.dom_js),
        ("drafts.js", PackageResources.drafts_js),
        ("events.js", PackageResources.events_js),
        ("icon.svg", PackageResources.icon_svg),
        ("manifest.webmanifest", PackageResources.manifest_webmanifest),
        ("models.js", PackageResources.models_js),
        ("outbox.js", PackageResources.outbox_js),
        ("reply.js", PackageResources.reply_js),
        ("storage.js", PackageResources.storage_js),
        ("strings.js", PackageResources.strings_js),
        ("style.css", PackageResources.style_css),
        ("transfer.js", PackageResources.transfer_js),
        ("markdown/blocks.js", PackageResources.blocks_js),
        ("markdown/entities.js", PackageResources.entities_js),
        ("markdown/inline-text.js", PackageResources.inline_text_js),
        ("markdown/inlines.js", PackageResources.inlines_js),
        ("markdown/leaves.js", PackageResources.leaves_js),
        ("markdown/limits.js", PackageResources.limits_js),
        ("markdown/line.js", PackageResources.line_js),
        ("markdown/links.js", PackageResources.links_js),
        ("markdown/nodes.js", PackageResources.nodes_js),
        ("markdown/renderer.js", PackageResources.renderer_js),
        ("markdown/starts.js", PackageResources.starts_js),
        ("markdown/tables.js", PackageResources.tables_js),
        ("markdown/text.js", PackageResources.text_js),
        ("views/announcer.js", PackageResources.announcer_js),
        ("views/composer.js", PackageResources.composer_js),
        ("views/details.js", PackageResources.details_js),
        ("views/dialogs.js", PackageResources.dialogs_js),
        ("views/message.js", PackageResources.message_js),
        ("views/messages.js", PackageResources.messages_js),
        ("views/options.js", PackageResources.options_js),
        ("views/servers.js", PackageResources.servers_js),
        ("views/sidebar.js", PackageResources.sidebar_js),
        ("views/signin.js", PackageResources.signin_js),
    ]
}
